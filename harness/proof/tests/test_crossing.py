"""What a cross of mutants and checks proves, from planted answers."""

from pathlib import Path

import pytest

from harness.proof.crossing import BASE, Crossing, overall
from harness.proof.mutants import Mutant
from harness.result import LEFT_BEHIND, CheckResult, CheckVerdict, ScenarioResult, Status, Verdict

OK, FAIL, ERROR, SKIP = Status.OK, Status.FAIL, Status.ERROR, Status.SKIP
LOG = {("suite", "s", "log")}


def mutant(name: str, *suites: str) -> Mutant:
    return Mutant(name, Path(f"{name}.py"), "x", suites or ("suite",))


def answers(build: str, suite: str = "suite", **statuses: Status) -> ScenarioResult:
    checks = tuple(CheckResult(suite, "s", name, build, status, "") for name, status in statuses.items())
    return ScenarioResult(suite, "s", build, checks)


def crossing(*mutants: Mutant, base: ScenarioResult | None = None) -> Crossing:
    crossed = Crossing(mutants)
    crossed.add(base or answers(BASE, pinned=OK, log=OK))
    return crossed


def verdicts(crossed: Crossing) -> dict[str, CheckVerdict]:
    return {each.check: each.verdict for each in crossed.comparisons()}


def test_a_check_is_proven_by_the_first_mutant_that_turns_it_red():
    crossed = crossing(mutant("m"), mutant("n"))
    crossed.add(answers("m", pinned=FAIL, log=OK))
    crossed.add(answers("n", pinned=FAIL, log=FAIL))
    assert verdicts(crossed) == {"pinned": CheckVerdict.PROVEN, "log": CheckVerdict.PROVEN}
    assert crossed.reds["suite", "s", "pinned"] == ["m", "n"]


def test_error_on_a_mutant_proves_nothing():
    crossed = crossing(mutant("m"))
    crossed.add(answers("m", pinned=ERROR, log=ERROR))
    assert set(verdicts(crossed).values()) == {CheckVerdict.UNPROVEN}
    assert crossed.survivors() == ("m",)


def test_a_mutant_that_is_meant_for_other_suites_has_survived_nothing():
    crossed = crossing(mutant("m", "elsewhere"), mutant("n", "elsewhere/s", "suite/s"))
    for name in ("m", "n"):
        crossed.add(answers(name, pinned=OK, log=OK))
    assert crossed.survivors() == ("n",)


def test_a_check_that_is_red_on_the_base_is_not_proven_by_a_mutant():
    crossed = crossing(mutant("m"), base=answers(BASE, pinned=FAIL, log=SKIP))
    crossed.add(answers("m", pinned=FAIL, log=FAIL))
    assert verdicts(crossed) == {"pinned": CheckVerdict.BROKEN, "log": CheckVerdict.SKIPPED}
    assert crossed.survivors() == ("m",)


def test_what_the_base_leaves_behind_is_red_on_it():
    left = ScenarioResult("suite", "s", BASE, answers(BASE, pinned=OK).checks, left_behind=("a socket",))
    crossed = crossing(mutant("m"), base=left)
    crossed.add(answers("m", pinned=FAIL))
    assert verdicts(crossed)[LEFT_BEHIND] is CheckVerdict.BROKEN
    assert overall(crossed.comparisons(), tainted=False, lacking=False) is Verdict.FAILING


def test_nothing_more_is_wanted_once_all_is_proven_and_every_mutant_was_seen():
    m, n, other = mutant("m"), mutant("n"), mutant("other", "elsewhere")
    crossed = crossing(m, n, other)
    assert crossed.is_wanted(m, ("suite", "s"), full=False)
    crossed.add(answers("m", pinned=FAIL, log=FAIL))
    assert not crossed.is_wanted(m, ("suite", "s"), full=False)
    assert crossed.is_wanted(n, ("suite", "s"), full=False), "n was not seen yet"
    assert not crossed.is_wanted(other, ("suite", "s"), full=False), "it is meant for another suite"
    assert crossed.is_wanted(other, ("suite", "s"), full=True)


def test_checks_that_go_red_together_always_are_listed():
    crossed = crossing(mutant("m"), mutant("n"), base=answers(BASE, a=OK, b=OK, c=OK))
    crossed.add(answers("m", a=FAIL, b=FAIL, c=FAIL))
    crossed.add(answers("n", a=OK, b=OK, c=FAIL))
    assert crossed.alike() == (("suite", ("a", "b")),)


def test_a_suite_needs_a_mutant_that_its_logs_do_not_tell():
    crossed = crossing(mutant("m"))
    crossed.add(answers("m", pinned=FAIL, log=FAIL))
    assert crossed.suites_without_a_quiet_mutant(LOG) == ("suite",)
    quiet = crossing(mutant("m"), mutant("q"))
    quiet.add(answers("q", pinned=FAIL, log=OK))
    assert quiet.suites_without_a_quiet_mutant(LOG) == ()


@pytest.mark.parametrize(
    ("base", "red", "expected"),
    [
        ({"a": OK, "b": OK}, {"a": FAIL, "b": FAIL}, Verdict.PROVEN),
        ({"a": OK, "b": OK}, {"a": FAIL, "b": OK}, Verdict.UNPROVEN),
        ({"a": OK, "b": SKIP}, {"a": FAIL, "b": SKIP}, Verdict.PROVEN),
        ({"a": OK, "b": FAIL}, {"a": OK, "b": FAIL}, Verdict.FAILING),
        ({"a": FAIL, "b": ERROR}, {"a": OK, "b": FAIL}, Verdict.ERROR),
        ({"a": SKIP}, {"a": SKIP}, Verdict.ERROR),
        ({}, {}, Verdict.ERROR),
    ],
)
def test_the_verdict_on_a_set_of_checks(base, red, expected):
    crossed = crossing(mutant("m"), base=answers(BASE, **base))
    crossed.add(answers("m", **red))
    assert overall(crossed.comparisons(), tainted=False, lacking=False) is expected
    assert overall(crossed.comparisons(), tainted=True, lacking=False) is Verdict.TAINTED


def test_a_survivor_fails_what_would_be_proven():
    crossed = crossing(mutant("m"))
    crossed.add(answers("m", pinned=FAIL, log=FAIL))
    assert overall(crossed.comparisons(), tainted=False, lacking=True) is Verdict.UNPROVEN
