"""What may be done between a router's requests: what a file may say, and how a missed wait is judged."""

import asyncio
import signal

import pytest

from harness.asking import Around, Asking, sent_for
from harness.checks.evaluate import evaluate
from harness.errors import ScenarioError
from harness.interventions import Hold, Leave, Send, Start, Until
from harness.record import Done, Record
from harness.reference import Prepared
from harness.result import Status
from harness.scenario import NextTurn, NoPrompt, TextPrompt
from harness.scenario_file import load
from harness.tests.records import check

GOOD = """scenario: what is done meanwhile
under_test: router
more_decoders: [{slots: 1}]
router: {args: [--api-key-file, "{files}/keys"], files: {keys: secret}}
requests:
  - {hold: decoder.token, at: 3, path: /v1/completions}
  - {name: first, prompt: hello, headers: {Authorization: Bearer secret}}
  - {name: held, until: {decoder.held: {point: decoder.token}}, deadline_s: 2}
  - {leave: first}
  - {signal: KILL, to: decoder2}
  - {start: [kvshare-refuse], to: decoder2}
  - {name: next, prompt: {follows: first, text: and then}}
  - {name: raw, call: {post: /v1/completions, text: "{"}}
checks:
  it is so:
    did: {missed: ""}
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "one.yaml"
        path.write_text(text)
        return path

    return write


def test_requests_and_interventions_stand_in_one_list(write):
    scenario = load(write(GOOD))
    assert [request.name for request in scenario.requests] == ["first", "next", "raw"]
    assert [(each.before, each.who, each.act) for each in scenario.interventions] == [
        (0, "decoder", Hold("decoder.token", 3, "/v1/completions")),
        (1, "decoder", Until(scenario.interventions[1].act.check, 2.0)),
        (1, "decoder", Leave("first")),
        (1, "decoder2", Send(signal.SIGKILL)),
        (1, "decoder2", Start(("kvshare-refuse",))),
    ]
    assert scenario.requests[1].prompt == NextTurn("first", "and then")
    assert scenario.requests[2].prompt == NoPrompt()
    assert list(scenario.decoders) == ["decoder", "decoder2"]


BAD = {
    "a request that was not sent yet": ("leave: first", "leave: next", "no request before it is called 'next'"),
    "nobody of that name": ("to: decoder2}", "to: decodr2}", "did you mean 'decoder2'"),
    "a decoder that is not there": ("signal: KILL, to: decoder2", "signal: KILL, to: decoder3", "there is no decoder3"),
    "two things at once": ("{leave: first}", "{leave: first, hold: x}", "expected a request, or one of"),
    "at without a hold": ("{leave: first}", "{leave: first, at: 2}", "does not go together with leave"),
    "a path without a hold": ("{leave: first}", "{leave: first, path: /x}", "`path` does not go together with leave"),
    "a wait that is none": ("{leave: first}", "{leave: first, deadline_s: 2}", "does not go together with leave"),
    "a signal that is none": ("signal: KILL", "signal: KIL", "did you mean 'KILL'"),
    "a fault that is none": ("[kvshare-refuse]", "[kvshare-refus]", "did you mean 'kvshare-refuse'"),
    "a turn after nothing": ("follows: first", "follows: frist", "did you mean 'first'"),
    "a turn of nothing": (", text: and then", "", "expected follows and text"),
    "a call with a prompt": ("{name: raw, call", "{name: raw, prompt: x, call", "expected one of prompt, call"),
    "a template of nobody's": ("{files}/keys", "{file}/keys", "did you mean 'files'"),
    "a check that names nobody": ('did: {missed: ""}', "{reply: {}, request: frist}", "did you mean 'first'"),
    "a wait that cannot be": ("point: decoder.token}}, d", "pont: x}}, d", "did you mean 'point'"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_done_is_one_clear_line(write, what):
    old, new, told = BAD[what]
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        load(write(GOOD.replace(old, new, 1)))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_a_routers_requests_have_something_in_between(write):
    with pytest.raises(ScenarioError, match="only a router's"):
        load(write(GOOD.replace("under_test: router", "under_test: decoder")))


def asking(http=None, **around):
    async def look(act, exchanges, done):
        return Record(exchanges=exchanges, done=done)

    values = {"url": lambda: "", "look": look, "send": None, "start": None, "control": None, "tails": str}
    return Asking(http, None, Around(**values | around))


def test_a_wait_in_vain_is_written_down_and_a_check_can_look_at_it(write):
    text = GOOD.replace(", deadline_s: 2", ", deadline_s: 0.05")
    wait = next(each for each in load(write(text)).interventions if each.name)

    async def run():
        asked = asking()
        await asked.all((), (wait,) if wait.before == 0 else (type(wait)(wait.act, wait.who, wait.name),))
        return asked.done

    done = asyncio.run(run())
    assert [(each.name, each.act) for each in done] == [("held", "until")]
    assert done[0].missed.startswith("not within 0.05 s: ")
    record = Record(done=tuple(done))
    assert evaluate(check("did: {name: held, missed: ''}"), record).status is Status.FAIL
    assert evaluate(check("did: {name: held}"), record).status is Status.OK
    assert evaluate(check("did: {}"), Record()).status is Status.ERROR


def test_a_signal_goes_to_whom_it_was_meant_for():
    sent = []

    async def send(who, act):
        sent.append((who, act.number))

    async def run():
        asked = asking(send=send)
        await asked.all((), (_signal("decoder2"),))
        return asked.done

    done = asyncio.run(run())
    assert sent == [("decoder2", signal.SIGKILL)]
    assert (done[0].act, done[0].to, done[0].missed) == ("signal KILL", "decoder2", "")


def _signal(who):
    from harness.interventions import Intervention

    return Intervention(Send(signal.SIGKILL), who)


def test_what_goes_out_for_a_call_is_what_was_written(write):
    first, turn, raw = load(write(GOOD)).requests
    sent = sent_for(Prepared(raw, "", (), None))
    assert (sent.method, sent.path, sent.data) == ("POST", "/v1/completions", b"{")
    assert sent_for(Prepared(first, "hello", (1,), None)).headers == {"Authorization": "Bearer secret"}
    body = sent_for(Prepared(turn, "and then", (1,), None, (("hello", "well"),))).body
    assert [message["content"] for message in body["messages"]] == ["hello", "well", "and then"]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert isinstance(first.prompt, TextPrompt)


def test_an_order_may_say_how_soon():
    def done(name, seconds):
        return Done(name, "leave", "a", int(seconds * 1e9))

    text = "{order: [{did: {}, where: {name: x}}, {did: {}, where: {name: y}}], within: 1}"
    assert evaluate(check(text), Record(done=(done("x", 1), done("y", 1.9)))).status is Status.OK
    late = evaluate(check(text), Record(done=(done("x", 1), done("y", 2.1))))
    assert late.status is Status.FAIL
    assert "expected did within 1 s of did, seen after 1.100 s" in late.detail
