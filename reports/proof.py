"""What a cross of checks and mutants says, for every report: who turned a check red, and what nobody sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.result import CheckVerdict, Comparison, RunResult

KIND = "prove"


@dataclass(frozen=True, slots=True)
class MutantLine:
    """A mutant, how many checks it turned red, and what is wrong with it. `tests`: seen by the harness's own tests."""

    name: str
    red: int
    says: str
    tests: bool = False


def red_on(comparison: Comparison) -> tuple[str, ...]:
    """The mutants that turned the check red, the good build left out."""
    _good, *others = comparison.tallies
    return tuple(name for name in others if comparison.tallies[name].fail)


def mutants(result: RunResult) -> Iterator[MutantLine]:
    for build in result.builds:
        if "says" in build.fingerprint:
            red = sum(build.name in red_on(each) for each in result.comparisons)
            of_harness = build.fingerprint.get("replaces") == "harness"
            yield MutantLine(build.name, red, str(build.fingerprint["says"]), of_harness)


def lacking(result: RunResult) -> list[Comparison]:
    """Checks that are not proven, and those that say nothing about it since they are not ok on the good build."""
    return [each for each in result.comparisons if each.verdict not in (CheckVerdict.PROVEN, CheckVerdict.SKIPPED)]
