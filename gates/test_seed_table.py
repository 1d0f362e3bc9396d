"""The review that the project grew from, replayed: which checks are red on which build, and what A/B says of it."""

import json
import sys

import pytest

from gates.commands import ROUTER, kvgate

SUITE = "scenarios/hybrid_kvshare_route"
NO_FALLBACK = {
    "the request was pinned to slot 0",
    "the fallback to the state file is named",
    "the provider's state file was restored (share 0.000 ms, the file route)",
    "the decoder was not left to prefill the prompt itself",
}
CLAIM_UNREAD = {
    "a short claim is named",
    "no cells were adopted from a short region",
    "the decoder prefills the prompt itself instead",
}


def mutant(name):
    return f"{sys.executable} -m gates.mutants.{name}"


def compared(folder, old, new):
    """Exit status, verdict, and the names that are not ok on each side with their status."""
    told = folder / "ab.json"
    ended = kvgate("ab", "--old", old, "--new", new, SUITE, "--json", str(told), "--runs", str(folder))
    result = json.loads(told.read_text())
    assert [len(named(result, side, None)) for side in ("old", "new")] == [33, 33]
    return ended.status, result


def named(result, build, status):
    return {each["check"] for each in result["checks"] if each["build"] == build and status in (None, each["status"])}


@pytest.mark.parametrize(
    ("old", "red"),
    [
        ("before_fix", NO_FALLBACK | CLAIM_UNREAD),
        ("no_fallback_half", NO_FALLBACK),
        ("claim_half", CLAIM_UNREAD),
    ],
)
def test_a_fix_is_proven_by_exactly_its_own_checks(tmp_path, old, red):
    status, result = compared(tmp_path, mutant(old), ROUTER)
    assert (status, result["verdict"]) == (0, "proven")
    assert named(result, "old", "FAIL") == red
    assert len(named(result, "old", "ok")) == 33 - len(red)
    assert len(named(result, "new", "ok")) == 33


def test_the_sides_swapped_are_a_regression(tmp_path):
    status, result = compared(tmp_path, ROUTER, mutant("before_fix"))
    assert (status, result["verdict"]) == (1, "regression")
    assert named(result, "new", "FAIL") == NO_FALLBACK | CLAIM_UNREAD


def test_the_same_build_twice_is_vacuous(tmp_path):
    status, result = compared(tmp_path, ROUTER, ROUTER)
    assert (status, result["verdict"]) == (4, "vacuous")


def test_an_old_build_that_cannot_start_proves_nothing_and_spoils_nothing(tmp_path):
    """What was cut short on its account (the plain runs go on at the same time) is made again for the new build."""
    status, result = compared(tmp_path, "/bin/false", ROUTER)
    assert (status, result["verdict"]) == (3, "error")
    assert len(named(result, "old", "ERROR")) == 33
    assert len(named(result, "new", "ok")) == 33
