"""The fake speaks llama-server's dialect: every clause holds, and where a server differs the difference is listed.

One run of all clauses on each decoder; a difference that is not listed is a failure, and so is one that is gone.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from gates.commands import ROOT, kvgate
from harness.conform import differences
from harness.conform.clauses import CLAUSES
from harness.errors import Unavailable
from harness.pytest_plugin import asked_for_real
from harness.real import find_server

PAGE = ROOT / "docs" / "conformance.md"
OLD, NEW = "xllamacpp==2026.9.11063", "xllamacpp"

SLOW = {
    "Garbage instead of a request line is 400 with an empty body, and a close",
    "Two requests that come at once are answered one after the other",
}
"""Each waits for seconds to see that a build closes late; one clause of that kind is enough of a gate."""
ONE_RUN = pytest.mark.xdist_group("conform-fake")
LISTED = {
    "fake": {"share is an unknown action"},
    "fake b11063": {
        "/v1/models says what goes in and out",
        "A file begins with qsgg, version 4 and the number of words of its tokens",
        "A finished stream leaves its connection usable",
        "After an error the connection is closed",
        "Garbage instead of a request line is 400 with an empty body, and a close",
        "Two requests that come at once are answered one after the other",
    },
    "fake b11549": {"A finished stream leaves its connection usable"},
}
"""The list may only shrink: take out here what is not in it any more, and add nothing."""
LISTED["b11063"] = LISTED["fake b11063"] | {"LLAMA_ARG_ variables set defaults"}
LISTED["b11549"] = LISTED["fake b11549"] | {"LLAMA_ARG_ variables set defaults"}


def judged(folder: Path, *decoders: str, clauses: Iterable[str] = ()) -> tuple[int, str, dict]:
    """Exit status, what was printed and the JSON of one run."""
    told = folder / "conform.json"
    words = [word for decoder in decoders for word in ("--decoder", decoder)]
    words += [word for clause in clauses for word in ("--clause", clause)]
    ended = kvgate("conform", *words, "--json", str(told), "--runs", str(folder))
    assert not ended.err, ended.err
    return ended.status, ended.out, json.loads(told.read_text())


def outcomes(found: dict, decoder: str) -> dict[str, str]:
    return {each["clause"]: each["outcome"] for each in found["clauses"] if each["decoder"] == decoder}


def unheld(found: dict, decoder: str) -> set[str]:
    return {clause for clause, outcome in outcomes(found, decoder).items() if outcome == "broken"}


def page_rows() -> list[list[str]]:
    """The rows of the page's clauses: section, sentence, fake, real."""
    lines = PAGE.read_text().partition("## Clauses\n")[2].splitlines()[3:]
    return [[cell.replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", line[2:-2])] for line in lines]


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    return judged(tmp_path_factory.mktemp("fake"), "fake")


@ONE_RUN
def test_the_fake_holds_every_clause_but_what_is_listed(fake):
    status, out, found = fake
    assert unheld(found, "fake") == LISTED["fake"]
    assert set(outcomes(found, "fake").values()) == {"holds", "broken"}, "every clause can be looked at on the fake"
    assert (status, len(found["clauses"])) == (0, len(CLAUSES))
    holds = len(CLAUSES) - len(LISTED["fake"])
    assert f"fake (fake b11434): {holds} of {len(CLAUSES)} clauses hold, {100 * holds / len(CLAUSES):.1f}%" in out


@ONE_RUN
def test_the_page_has_every_clause_as_it_was_judged(fake):
    seen = outcomes(fake[2], "fake")
    marks = {"holds": "holds", "broken": "BROKEN"}
    expected = [(each.section, each.says.replace("\n", "\\n"), marks[seen[each.says]]) for each in CLAUSES]
    assert [tuple(row[:3]) for row in page_rows()] == expected, "write it again: kvgate conform --write"


def test_the_page_has_the_known_differences():
    rows = (
        PAGE.read_text().partition("## Known differences\n")[2].partition("\n\n## Clauses")[0].strip().splitlines()[2:]
    )
    assert [tuple(row[2:-2].split(" | ")) for row in rows] == [
        (each.build, each.clause, each.reason) for each in differences.read()
    ]


def test_the_list_of_differences_only_shrinks():
    found = differences.read()
    assert {each.build for each in found} <= set(LISTED)
    for each in found:
        assert each.clause in LISTED[each.build], f"{each.build}: {each.clause!r} is new in the list"
        assert each.clause in {clause.says for clause in CLAUSES}


@pytest.mark.parametrize("build", ["b11063", "b11549"])
def test_the_fake_plays_what_is_known_of_another_build(build, tmp_path):
    decoder = f"fake --fake-version {build}"
    expected = (LISTED["fake"] | LISTED[f"fake {build}"]) - SLOW
    others = ("A client's own Connection: close is honoured", "Then come the number of streams")
    status, _, found = judged(tmp_path, decoder, clauses=(*expected, *others))
    assert unheld(found, decoder) == expected
    assert len(outcomes(found, decoder)) > len(expected)
    assert status == 0


def test_a_decoder_that_says_something_else_is_seen(tmp_path):
    decoder = "fake --fault counters-lie=more"
    status, out, found = judged(tmp_path, decoder, clauses=("cache_n",))
    assert status == 1
    assert unheld(found, decoder)
    assert "BROKEN" in out


def test_a_decoder_that_does_not_start_is_no_verdict():
    ended = kvgate("conform", "--decoder", "fake --frobnicate", "--section", "8.2")
    assert ended.status == 3
    assert "--frobnicate" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("decoder", "status", "says"),
    [
        ("fakee", 2, "no decoder is called 'fakee'; did you mean 'fake'?"),
        ("http://127.0.0.1:9", 3, "http://127.0.0.1:9: no llama-server answers there: "),
        ("https://127.0.0.1:9", 2, "clauses are asked over plain HTTP alone"),
        ("/nowhere/llama-server", 3, "'/nowhere/llama-server' is not there"),
        ("sh -c 'exit 3'", 3, "exited with status 3 before it was ready"),
    ],
)
def test_what_is_no_decoder_is_said_in_a_line(decoder, status, says):
    ended = kvgate("conform", "--decoder", decoder, "--section", "8.2")
    assert ended.status == status
    assert says in ended.err.splitlines()[0]
    assert "Traceback" not in ended.err


def test_an_address_where_somebody_else_answers_is_no_verdict(tmp_path):
    program = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            port = re.search(r"port (\d+)", server.stdout.readline())[1]
            ended = kvgate("conform", "--decoder", f"http://127.0.0.1:{port}", "--section", "8.2")
        finally:
            server.kill()
    assert ended.status == 3
    assert "no llama-server answers there: GET /props answered 404" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.real
def test_what_the_real_server_holds_the_fake_holds(request, tmp_path):
    for name in (OLD, NEW):
        try:
            find_server(name)
        except Unavailable as missing:
            if asked_for_real(request.config):
                raise
            pytest.skip(str(missing))
    status, out, found = judged(tmp_path, OLD, NEW)
    assert unheld(found, NEW) == LISTED["b11549"], out
    assert unheld(found, OLD) == LISTED["b11063"], out
    assert status == 0
    assert set(outcomes(found, NEW).values()) == {"holds", "broken"}, out
    marks = {"holds": "holds", "broken": "BROKEN", "not seen": "-"}
    assert [row[3] for row in page_rows()] == [marks[outcome] for outcome in outcomes(found, NEW).values()]
