"""What an author can get wrong: each is one line that names file, line, key and what is near."""

import pytest

from harness import fake_faults, scenario_shape, schema
from harness.errors import ScenarioError, UsageError
from harness.fake_faults import FaultNames
from harness.scenario import SamePrompt, SizedPrompt
from harness.scenario_file import find, load

GOOD = """\
scenario: a claim
under_test: router
decoder: {faults: [kvshare-refuse]}
provider: {}
router: {kv_share: true}
requests:
  - {prompt: {tokens: 30}}
  - {name: again, prompt: {same_as: "1"}}
checks:
  it is answered:
    reply: {status: 200}
"""


@pytest.fixture(autouse=True)
def faults(monkeypatch):
    """The fakes' list is a process of theirs; here it is laid down."""
    names = FaultNames({"kvshare-refuse": "decoder", "kvshare-short": "provider"})
    monkeypatch.setattr(scenario_shape, "known_faults", lambda: names)


@pytest.fixture
def write(tmp_path):
    def written(text, name="suite/one.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return written


def test_a_good_file(write):
    found = load(write(GOOD))
    assert (found.suite, found.name) == ("suite", "one")
    assert [request.prompt for request in found.requests] == [SizedPrompt(30), SamePrompt("1")]
    assert found.requests[0].name == "1"
    assert [named.name for named in found.checks] == ["it is answered"]


BAD = {
    "unknown key": ("provider: {}", "provder: {}", 4, "provder", "did you mean 'provider'"),
    "unknown key deep down": ("kv_share", "kv_shar", 5, "router.kv_shar", "did you mean 'kv_share'"),
    "unknown fault": ("kvshare-refuse", "kvshare-refused", 3, "decoder.faults.0", "did you mean 'kvshare-refuse'"),
    "fault of another player": ("kvshare-refuse", "kvshare-short", 3, "decoder.faults.0", "played by the provider"),
    "wrong type": ("tokens: 30", "tokens: thirty", 7, "requests.0.prompt.tokens", "expected a whole number"),
    "number out of range": ("tokens: 30", "tokens: 0", 7, "requests.0.prompt.tokens", "at least 1"),
    "flag of another type": ("kv_share: true", "kv_share: 1", 5, "router.kv_share", "true or false"),
    "unknown observable": ("reply:", "replay:", 11, "checks.it is answered.replay", "did you mean 'reply'"),
    "unknown field": ("status: 200", "statuss: 1", 11, "checks.it is answered.reply.statuss", "did you mean 'status'"),
    "unknown request": ('same_as: "1"', 'same_as: "2"', 6, "requests.again", "no earlier request"),
    "a comparison turned round": ("status: 200", "status: {not: {min: 3}}", 11,
                                  "checks.it is answered.reply.status.not", "a comparison cannot be turned round"),
    "unknown kind": ("under_test: router", "under_test: ruter", 2, "under_test", "did you mean 'router'"),
    "unknown template": (
        "provider: {}", 'provider: {command: [x, "{slot_path}"]}', 4, "provider.command.1",
        "unknown template {slot_path}; did you mean 'slot_save_path'"),
    "a brace alone": ("provider: {}", 'provider: {command: ["{"]}', 4, "provider.command.0", "written twice"),
    "a template with a format": (
        "provider: {}", 'provider: {command: ["{port:04}"]}', 4, "provider.command.0", "neither a format"),
    "an anchor": ("provider: {}", "provider: &p {}", 4, "", "anchors"),
    "a key twice": ("provider: {}", "scenario: x", 4, "scenario", "occurs twice; first on line 1"),
    "no checks": ("checks:\n  it is answered:\n    reply: {status: 200}\n", "checks: {}\n", 9, "checks", "no checks"),
    "no checks key": ("checks:\n  it is answered:\n    reply: {status: 200}\n", "", 1, "", "'checks' is missing"),
    "an empty check": ("reply: {status: 200}", "{}", 11, "checks.it is answered", "empty"),
    "an absence without witness": (
        "reply: {status: 200}", "absent: {log.contains: x}", 11, "checks.it is answered", "needs a `witness`"),
    "a count of zero without witness": (
        "reply: {status: 200}", "{log.contains: x, count: 0}", 11, "checks.it is answered", "needs a `witness`"),
    "two observables in one check": (
        "reply: {status: 200}", "{log.contains: x, reply.parity: same}", 11, "checks.it is answered", "stand in one"),
    "a witness of a presence": (
        "reply: {status: 200}", "{log.contains: x, witness: {log.contains: y}}", 11,
        "checks.it is answered.witness", "only an absence"),
    "an untimed step in an order": (
        "reply: {status: 200}", "order: [{log.contains: x}, {decoder.adopt: {}}]", 11,
        "checks.it is answered.order.0", "nothing of when"),
    "a budget that its deadlines use up": ("provider: {}", "budget_s: 60", 4, "budget_s", "do not exceed"),
    "a regular expression that is none": ("reply: {status: 200}", "log.matches: '('", 11,
                                          "checks.it is answered.log.matches", "no regular expression"),
    "a reference to nothing": ("status: 200", "status: {same_as: decoder.shar.slot}", 11,
                               "checks.it is answered.reply.status.same_as", "did you mean"),
    "no YAML at all": ("provider: {}", "provider: {", 6, "", "no valid YAML"),
    "a real decoder with faults": ("faults: [kvshare-refuse]", "real: true, model: m, faults: [kvshare-refuse]", 3,
                                   "decoder", "plays no faults"),
    "a fake by a server's name": ("faults: [kvshare-refuse]", "server: xllamacpp", 3, "decoder", "of a real decoder"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_one_clear_line(write, what):
    old, new, line, key, told = BAD[what]
    assert old in GOOD
    path = write(GOOD.replace(old, new, 1))
    with pytest.raises(ScenarioError) as caught:
        load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}: {key}")
    assert told in text
    assert "\n" not in text


def test_a_name_of_a_check_is_unique_within_its_suite(write):
    first, second = write(GOOD), write(GOOD, "suite/two.yaml")
    with pytest.raises(ScenarioError, match=r"two.yaml:10: .*the suite has this check already, in one.yaml"):
        find([first.parent])
    assert len(find([first, write(GOOD, "other/two.yaml")])) == 2
    assert second.exists()


def test_a_path_that_is_not_there_names_what_is_near(write):
    path = write(GOOD)
    empty = path.parent.parent / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"did you mean 'one.yaml'"):
        find([path.with_name("on.yaml")])
    with pytest.raises(UsageError, match="no scenario"):
        find([empty])


def test_the_published_schema_is_the_one_of_the_loader():
    assert schema.FILE.read_text() == schema.text(), "run: python -m harness.schema"


def test_fakes_that_do_not_answer_are_the_harness_s_error(monkeypatch):
    fake_faults.known_faults.cache_clear()
    monkeypatch.setattr(fake_faults.sys, "executable", "/nonexistent")
    with pytest.raises(Exception, match="do not list their faults"):
        fake_faults.known_faults()
    fake_faults.known_faults.cache_clear()


WRONG_BYTES = {
    "deep": (b"scenario: " + b"[" * 5000, 1, "nested more than 50 levels deep"),
    "large": (b"a: b\n" * 300_000, 1, "the file is too large: at most 1 MiB is read"),
    "no text": (b"scenario: x\nnote: \xd0\x00", 2, "cannot be read: this is no text in UTF-8"),
    "a forbidden character": (b"scenario: x\nnote: a\x00b\n", 2, "no valid YAML: the character U+0000 is not allowed"),
}


@pytest.mark.parametrize("wrong", WRONG_BYTES)
def test_a_file_that_no_person_wrote_is_refused_in_one_line(wrong, tmp_path):
    data, line, problem = WRONG_BYTES[wrong]
    path = tmp_path / "wrong.yaml"
    path.write_bytes(data)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:{line}: {problem}"
