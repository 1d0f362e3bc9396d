"""A cross of checks and mutants as a page of the docs: what turns which check red, and what is wrong with each mutant.

Nothing of the machine or of the moment is in it, so that the page changes only with what it tells of.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.result import Comparison, RunResult
from reports import proof
from reports.counts import verdict_text
from reports.markdown import code, escaped

HEAD = """# Which checks are known to go red, and by what

Written by `make prove`: every check of every suite against mutants, each of which puts one fault back into the router,
a fake, an engine or the harness. A check that no mutant turns red is *unproven*, and `make test` fails on it.
"""


def render(result: RunResult) -> str:
    return "\n".join([HEAD, f"{verdict_text(result)}.", *_suites(result), *_alike(result), *_mutants(result)]) + "\n"


def _suites(result: RunResult) -> Iterator[str]:
    for suite in sorted({each.suite for each in result.comparisons}):
        yield from ("", f"## {escaped(suite)}", "", "| scenario | check | red on |", "|---|---|---|")
        own = [each for each in result.comparisons if each.suite == suite]
        for each in sorted(own, key=lambda one: one.scenario):
            yield f"| {escaped(each.scenario)} | {escaped(each.check)} | {_red_on(each)} |"


def _red_on(comparison: Comparison) -> str:
    return ", ".join(map(code, sorted(proof.red_on(comparison)))) or f"**{comparison.verdict}**"


def _alike(result: RunResult) -> Iterator[str]:
    groups: dict[tuple[str, tuple[str, ...]], list[Comparison]] = {}
    for each in result.comparisons:
        if red := proof.red_on(each):
            groups.setdefault((each.suite, tuple(sorted(red))), []).append(each)
    several = [(suite, checks) for (suite, _), checks in sorted(groups.items()) if len(checks) > 1]
    if several:
        yield from ("", "## Checks that no mutant tells apart", "")
        yield "They are red on the same mutants: one of each group could say what the others say, as far as was seen."
        yield ""
    for suite, checks in several:
        yield f"- {escaped(suite)}: " + "; ".join(sorted(escaped(each.check) for each in checks))


def _mutants(result: RunResult) -> Iterator[str]:
    yield from ("", "## Mutants", "", "| mutant | checks it turns red | what is wrong with it |", "|---|---|---|")
    for mutant in sorted(proof.mutants(result), key=lambda one: one.name):
        red = str(mutant.red) if not mutant.tests else "tests of the harness"
        yield f"| {code(mutant.name)} | {red} | {escaped(mutant.says)} |"
