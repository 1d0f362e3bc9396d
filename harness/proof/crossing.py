"""Which mutant turns which check red, and what that proves. Pure: results go in, findings come out.

A check that no mutant turns red is unproven: nobody has ever seen it fail. A mutant that turns nothing red has
survived: the suites it is meant for do not see it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.proof.mutants import Mutant
from harness.result import LEFT_BEHIND, CheckVerdict, Comparison, RunResult, ScenarioResult, Status, Tally, Verdict

BASE = "base"
_CheckId = tuple[str, str, str]
_ScenarioId = tuple[str, str]


@dataclass(slots=True)
class Crossing:
    """What has been seen so far: the base build's answers, and each mutant's red checks."""

    mutants: Sequence[Mutant]
    base: dict[_CheckId, Status] = field(default_factory=dict)
    reds: dict[_CheckId, list[str]] = field(default_factory=dict)
    seen: dict[_CheckId, dict[str, Status]] = field(default_factory=dict)

    def add(self, result: ScenarioResult) -> None:
        for check in result.checks:
            identity = (check.suite, check.scenario, check.check)
            if result.build == BASE:
                self.base[identity] = check.status
            else:
                self.seen.setdefault(identity, {})[result.build] = check.status
                if check.status is Status.FAIL:
                    self.reds.setdefault(identity, []).append(result.build)
        if result.build == BASE and result.left_behind:
            self.base[result.suite, result.scenario, LEFT_BEHIND] = Status.FAIL

    def is_wanted(self, mutant: Mutant, scenario: _ScenarioId, *, full: bool) -> bool:
        """Whether running this mutant on this scenario can still tell something.

        In the full cross always; else while the scenario has a check that no mutant turned red yet, or while the
        mutant itself has turned nothing red.
        """
        if full:
            return True
        if not mutant.is_meant_for(*scenario):
            return False
        own = [identity for identity in self.base if identity[:2] == scenario]
        open_checks = any(self.base[identity] is Status.OK and identity not in self.reds for identity in own)
        return open_checks or not self.has_killed(mutant.name)

    def has_killed(self, mutant: str) -> bool:
        """Whether somebody has seen this mutant: a check that is ok on the base is red on it."""
        return any(mutant in names for identity, names in self.reds.items() if self.base.get(identity) is Status.OK)

    def comparisons(self) -> tuple[Comparison, ...]:
        """Every check of the base with its verdict and what each mutant that met it made of it."""
        return tuple(
            Comparison(*identity, verdict=self._verdict(identity), tallies=self._tallies(identity))
            for identity in self.base
        )

    def _verdict(self, identity: _CheckId) -> CheckVerdict:
        on_base = self.base[identity]
        if on_base is not Status.OK:
            return _ON_BASE[on_base]
        return CheckVerdict.PROVEN if self.reds.get(identity) else CheckVerdict.UNPROVEN

    def _tallies(self, identity: _CheckId) -> Mapping[str, Tally]:
        met = {BASE: self.base[identity]} | self.seen.get(identity, {})
        return {build: Tally.of([status]) for build, status in met.items()}

    def survivors(self) -> tuple[str, ...]:
        """Mutants that nobody sees, of those that are meant for a suite that was run."""
        suites = {suite for suite, _, _ in self.base}
        meant = (mutant for mutant in self.mutants if mutant.is_meant_for_any(suites))
        return tuple(mutant.name for mutant in meant if not self.has_killed(mutant.name))

    def alike(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Suites and checks that the same mutants turn red: no mutant tells them apart."""
        groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for (suite, _, check), mutants in self.reds.items():
            groups.setdefault((suite, tuple(sorted(set(mutants)))), []).append(check)
        return tuple((suite, tuple(checks)) for (suite, _), checks in groups.items() if len(checks) > 1)

    def suites_without_a_quiet_mutant(self, log_checks: Collection[_CheckId]) -> tuple[str, ...]:
        """Suites in which no mutant is red on a check that reads no log while every check of the log is green.

        Where there is none, the logs alone would do, and nothing shows that the journals are read.
        """
        suites = dict.fromkeys(suite for suite, _, _ in self.base)
        return tuple(
            suite for suite in suites if not any(self._is_quiet(m.name, suite, log_checks) for m in self.mutants)
        )

    def _is_quiet(self, mutant: str, suite: str, log_checks: Collection[_CheckId]) -> bool:
        red = {identity for identity, names in self.reds.items() if identity[0] == suite and mutant in names}
        return bool(red) and not red & set(log_checks)


_ON_BASE = {Status.FAIL: CheckVerdict.BROKEN, Status.ERROR: CheckVerdict.ERROR, Status.SKIP: CheckVerdict.SKIPPED}


def overall(comparisons: Iterable[Comparison], *, tainted: bool, lacking: bool) -> Verdict:
    """The verdict on the checks. `lacking`: mutants survived, or a suite has no mutant that it needs."""
    verdicts = {each.verdict for each in comparisons} - {CheckVerdict.SKIPPED}
    rules = (
        (Verdict.TAINTED, tainted),
        (Verdict.ERROR, not verdicts or CheckVerdict.ERROR in verdicts),
        (Verdict.FAILING, CheckVerdict.BROKEN in verdicts),
        (Verdict.UNPROVEN, CheckVerdict.UNPROVEN in verdicts or lacking),
    )
    return next((verdict for verdict, holds in rules if holds), Verdict.PROVEN)


def unproven(result: RunResult) -> tuple[str, ...]:
    return tuple(each.check for each in result.comparisons if each.verdict is CheckVerdict.UNPROVEN)
