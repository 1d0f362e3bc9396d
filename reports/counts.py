"""The figures and sentences that every report has in common: how many checks said what, and what that means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from harness.result import CheckResult, CheckVerdict, PairedTiming, RunResult, ScenarioResult, Status, Verdict

_MEANING = {
    Verdict.OK: "every check holds",
    Verdict.FAILED: "a check fails",
    Verdict.ERROR: "something could not be observed, so nothing is proven",
    Verdict.PROVEN: "red on old, green on new, and nothing else moved",
    Verdict.VACUOUS: "nothing is red on old: these checks do not see the fix",
    Verdict.FAILING: "a check is red on new",
    Verdict.UNSTABLE: "the same build answers differently from run to run",
    Verdict.REGRESSION: "a check that old passes is red on new",
    Verdict.TAINTED: "a build changed while it was being judged",
    Verdict.UNPROVEN: "a check that no mutant turns red, or a mutant that nothing sees",
    Verdict.UNEXPECTED: "the checks that are red on old are not the expected ones",
}


_OF_A_PROOF = {
    Verdict.PROVEN: "every check turns red on a mutant",
    Verdict.FAILING: "a check is red on the good build",
}


def meaning(result: RunResult) -> str:
    """What the verdict says, in words; of a cross with mutants it says something else than of two builds."""
    told = _OF_A_PROOF.get(result.verdict) if result.kind == "prove" else None
    if result.verdict is Verdict.ERROR and {check.status for check in result.checks} == {Status.SKIP}:
        told = "every check was skipped, so nothing is shown"
    if result.verdict is Verdict.ERROR and result.partial:
        told = "the run was cut short, so nothing is proven"
    return told or _MEANING[result.verdict]


def tally_text(checks: Iterable[CheckResult]) -> str:
    """`26 ok, 7 FAIL`: every status that occurs, and `0 checks` when none does."""
    count = Counter(check.status for check in checks)
    parts = [f"{count[status]} {status}" for status in Status if count[status]]
    return ", ".join(parts) or "0 checks"


def verdict_text(result: RunResult) -> str:
    """`7 fixed, 26 green on both`: every verdict on a check that occurs, without the implicit findings."""
    count = Counter(each.verdict for each in result.comparisons if not each.implicit)
    return ", ".join(f"{count[verdict]} {verdict}" for verdict in CheckVerdict if count[verdict])


def of_build(result: RunResult, build: str) -> list[CheckResult]:
    return [check for check in result.checks if check.build == build]


def left_behind_text(scenario: ScenarioResult) -> str:
    return "; ".join(scenario.left_behind)


def timing_text(timing: PairedTiming) -> str:
    interval = "" if timing.low is None or timing.high is None else f", {timing.low:.2f} to {timing.high:.2f}"
    pairs = f"{timing.pairs} pair{'s' if timing.pairs != 1 else ''}"
    return f"{timing.what}: new takes {timing.ratio:.2f} times as long as old ({pairs}{interval})"


def seconds_text(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
