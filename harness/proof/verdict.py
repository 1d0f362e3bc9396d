"""What two builds say about each other: a verdict for every check, and one for the whole.

Pure: results in, verdicts out. It does not know how a build is started, in which order runs were made,
or how a verdict is shown. Only FAIL is red. ERROR is an observation that could not be made, so it neither
proves a fix nor convicts a build.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from harness.result import LEFT_BEHIND, CheckVerdict, Comparison, ScenarioResult, Status, Tally, Verdict

OLD, NEW = "old", "new"
_Identity = tuple[str, str, str]


def check_verdict(old: Tally, new: Tally) -> CheckVerdict:
    """One check on two builds. A check that was never run on a side counts as not observed there."""
    if (old.skip or new.skip) and not (old.error or new.error) and not (old.observed and new.observed):
        return CheckVerdict.SKIPPED
    if new.error or not new.observed or not old.observed:
        return CheckVerdict.ERROR
    if old.error or (old.ok and old.fail) or (new.ok and new.fail):
        return CheckVerdict.UNSTABLE
    return _SETTLED[bool(old.fail), bool(new.fail)]


_SETTLED = {
    (True, False): CheckVerdict.FIXED,
    (False, True): CheckVerdict.BROKEN,
    (False, False): CheckVerdict.GREEN_ON_BOTH,
    (True, True): CheckVerdict.RED_ON_BOTH,
}


def compare(results: Iterable[ScenarioResult], builds: Sequence[str] = (OLD, NEW)) -> tuple[Comparison, ...]:
    """Every check of `results` across `builds`, in the order they were first seen; first build against last.

    With builds between them, a check that is green on one of those and red on the last is broken.
    """
    statuses: dict[_Identity, dict[str, list[Status]]] = {}
    for result in results:
        for identity, status in _findings(result):
            statuses.setdefault(identity, {}).setdefault(result.build, []).append(status)
    compared = [_comparison(identity, by_build, builds) for identity, by_build in statuses.items()]
    return tuple(each for each in compared if not each.implicit or _is_red_somewhere(each))


def _is_red_somewhere(comparison: Comparison) -> bool:
    return any(tally.fail for tally in comparison.tallies.values())


def _findings(result: ScenarioResult) -> Iterable[tuple[_Identity, Status]]:
    for check in result.checks:
        yield (check.suite, check.scenario, check.check), check.status
    observed = any(check.status in (Status.OK, Status.FAIL) for check in result.checks)
    if result.left_behind or observed:
        status = Status.FAIL if result.left_behind else Status.OK
        yield (result.suite, result.scenario, LEFT_BEHIND), status


def _comparison(identity: _Identity, by_build: dict[str, list[Status]], builds: Sequence[str]) -> Comparison:
    tallies = {build: Tally.of(by_build.get(build, ())) for build in builds}
    verdict = check_verdict(tallies[builds[0]], tallies[builds[-1]])
    if verdict is CheckVerdict.RED_ON_BOTH and any(_is_green(tallies[build]) for build in builds[1:-1]):
        verdict = CheckVerdict.BROKEN  # a fix of its own that does not survive together with the others
    return Comparison(*identity, verdict=verdict, tallies=tallies, implicit=identity[2] == LEFT_BEHIND)


def _is_green(tally: Tally) -> bool:
    return bool(tally.ok) and not tally.fail and not tally.error


def overall(
    comparisons: Iterable[Comparison],
    *,
    tainted: bool = False,
    expect_red: Collection[str] | None = None,
    old: str = OLD,
    new: str = NEW,
) -> Verdict:
    """The verdict on new against old. The first rule that holds decides; their order is the precedence."""
    compared = [each for each in comparisons if each.verdict is not CheckVerdict.SKIPPED]
    verdicts = {each.verdict for each in compared}
    own = [each for each in compared if not each.implicit]
    rules = (
        (Verdict.TAINTED, tainted),
        (Verdict.ERROR, not own or any(_unseen(each.tallies[new]) for each in own)),
        (Verdict.ERROR, not any(each.tallies[old].observed for each in own)),
        (Verdict.REGRESSION, CheckVerdict.BROKEN in verdicts),
        (Verdict.UNSTABLE, CheckVerdict.UNSTABLE in verdicts),
        (Verdict.FAILING, any(each.tallies[new].fail for each in compared)),
        (Verdict.VACUOUS, CheckVerdict.FIXED not in verdicts),
        (Verdict.UNEXPECTED, bool(expect_red is not None and differs_from_expected(compared, expect_red))),
    )
    return next((verdict for verdict, holds in rules if holds), Verdict.PROVEN)


def _unseen(tally: Tally) -> bool:
    return bool(tally.error) or not tally.observed


def differs_from_expected(comparisons: Iterable[Comparison], expect_red: Collection[str]) -> tuple[str, ...]:
    """How the checks that are red on old differ from the names they were said to be: one line for each."""
    red = {each.check for each in comparisons if each.tallies[OLD].fail and not each.implicit}
    expected = set(expect_red)
    missing = [f"expected red on old, and it is not: {name}" for name in sorted(expected - red)]
    surplus = [f"red on old, and not expected to be: {name}" for name in sorted(red - expected)]
    return (*missing, *surplus)
