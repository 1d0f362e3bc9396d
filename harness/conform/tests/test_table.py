"""What is printed of a judgement, and the exit status."""

from collections import Counter

import pytest

from harness.commands.conform import selected, status
from harness.conform.clause import Clause, Outcome
from harness.conform.clauses import CLAUSES
from harness.conform.decoder import Decoder
from harness.conform.differences import Difference, known, read
from harness.conform.judge import Judged, Verdict
from harness.conform.setting import OWN, SETTINGS
from harness.conform.table import as_json, page, text
from harness.errors import UsageError


async def probe(_):
    """A probe."""


ONE, TWO = Clause("1", "it starts", probe), Clause("2", "it | knows flags", probe)
LISTED = (Difference("http", "it | knows flags", "an old one"),)


def judged(one: Outcome, two: Outcome) -> Judged:
    return Judged(Decoder("http://a", url="http://a"), (Verdict(ONE, one), Verdict(TWO, two, "seen otherwise")))


GOOD = judged(Outcome.HOLDS, Outcome.HOLDS)
BAD = judged(Outcome.HOLDS, Outcome.BROKEN)


@pytest.mark.parametrize(
    ("found", "listed", "expected"),
    [
        (GOOD, (), 0),
        (BAD, (), 1),
        (BAD, LISTED, 0),
        (GOOD, LISTED, 1),
        (judged(Outcome.HOLDS, Outcome.NOT_SEEN), LISTED, 0),
        (judged(Outcome.BROKEN, Outcome.ERROR), (), 3),
    ],
)
def test_exit_status(found, listed, expected):
    assert status([found], listed) == expected


def test_a_difference_is_a_builds_or_of_all_that_begin_so():
    assert known(LISTED, "http://a") == {"it | knows flags": LISTED[0]}
    assert known(LISTED, "b11434") == {}


def test_the_table_shows_what_does_not_hold_and_the_share():
    shown = text([BAD], (), everything=False)
    assert "it | knows flags" in shown
    assert "it starts" not in shown
    assert "2  http://a: seen otherwise" in shown
    assert "1 of 2 clauses hold, 50.0%" in shown
    assert "it starts" in text([BAD], (), everything=True)
    assert "broken (listed)" in text([BAD], LISTED, everything=False)


def test_what_was_not_seen_counts_in_no_share():
    assert "1 of 1 clauses hold, 100.0%, 1 could not" in text(
        [judged(Outcome.HOLDS, Outcome.NOT_SEEN)], (), everything=False
    )


def test_json_and_page():
    found = as_json([BAD], LISTED)
    assert found["decoders"] == [{"name": "http://a", "build": "http://a", "holds": 1, "seen": 2}]
    assert [each["listed"] for each in found["clauses"]] == [False, True]
    written = page([BAD], LISTED)
    assert "| 2 | it \\| knows flags | BROKEN |" in written
    assert "| http | it \\| knows flags | an old one |" in written


@pytest.mark.parametrize(
    "entries",
    ["- {build: a, clause: b}", "- 5", "[{build: a, clause: b, reason: c}, {build: a, clause: b, reason: c}]"],
)
def test_a_list_that_says_too_little_or_too_much_is_refused(entries, tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text(entries)
    with pytest.raises(UsageError):
        read(path)


def test_every_clause_is_one_sentence_of_its_own():
    assert [says for says, count in Counter(each.says for each in CLAUSES).items() if count > 1] == []
    for clause in CLAUSES:
        assert clause.says
        assert "\n" not in clause.says.replace("`:\\n`", "")
        assert not clause.says.endswith(".")
        assert clause.setting in {*SETTINGS, OWN}


def test_every_section_that_can_be_asked_about_has_clauses():
    assert {each.section.partition(".")[0] for each in CLAUSES} >= set(map(str, range(1, 12)))


def test_clauses_are_selected_by_section_and_by_words():
    assert {each.section for each in selected(["6"], None)} == {"6.1", "6.2", "6.3", "6.4", "6.5"} & {
        each.section for each in CLAUSES
    }
    assert all("id_slot" in each.says for each in selected(None, ["id_slot"]))
    with pytest.raises(UsageError, match="there is no section '66'"):
        selected(["66"], None)
    with pytest.raises(UsageError, match="no clause says"):
        selected(None, ["frobnicate"])
