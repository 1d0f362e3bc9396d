"""The result as Markdown for a pull request: which builds, which checks moved, and the rest folded away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from harness.result import LEFT_BEHIND, BuildInfo, CheckResult, CheckVerdict, Comparison, RunResult, Status
from reports import proof
from reports.counts import meaning, of_build, tally_text, timing_text, verdict_text
from reports.printable import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_MAX_DETAIL = 300

_Named = TypeVar("_Named", CheckResult, Comparison)


def render(result: RunResult) -> str:
    lines = [f"**kvgate {result.kind}: {result.verdict}**, {meaning(result)}", ""]
    lines += _partial(result)
    if result.kind == proof.KIND:
        lines += _proof(result)
    else:
        lines += _builds(result)
        lines += _comparisons(result) if result.comparisons else _checks(result)
    lines += [f"- {escaped(note)}" for note in (*result.notes, *result.warnings)]
    lines += [f"- {escaped(timing_text(timing))}" for timing in result.timings]
    return "\n".join(lines).rstrip("\n") + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line and inside a table cell."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def code(text: str) -> str:
    """A code span that survives backticks and table cells."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}" if "`" in shown else f"`{shown}`"


def _partial(result: RunResult) -> list[str]:
    return ["This result is **partial**: the run was cut short.", ""] if result.partial else []


def _builds(result: RunResult) -> Iterator[str]:
    yield from ("| build | command | fingerprint | checks |", "|---|---|---|---|")
    for build in result.builds:
        counted = tally_text(of_build(result, build.name))
        yield f"| {escaped(build.name)} | {code(' '.join(build.command))} | {_fingerprint(build)} | {counted} |"
    yield ""


def _fingerprint(build: BuildInfo) -> str:
    parts = [str(build.fingerprint.get("digest") or "")[:12]]
    for tree in build.fingerprint.get("trees", ()):
        parts.append(f"git {tree['commit'][:10]}{' (changed)' if tree['dirty'] else ''}")
    return ", ".join(code(part) for part in parts if part) or "none"


def _proof(result: RunResult) -> Iterator[str]:
    """Every check with the mutants that turn it red, a table for each suite; then the mutants."""
    yield f"{verdict_text(result)}."
    for suite in dict.fromkeys(each.suite for each in result.comparisons):
        yield from ("", f"## {escaped(suite)}", "", "| scenario | check | red on |", "|---|---|---|")
        for each in result.comparisons:
            if each.suite == suite:
                red = ", ".join(map(code, proof.red_on(each))) or f"**{each.verdict}**"
                yield f"| {escaped(each.scenario)} | {escaped(each.check)} | {red} |"
    yield from ("", "## Mutants", "", "| mutant | checks it turns red | what is wrong with it |", "|---|---|---|")
    for mutant in proof.mutants(result):
        yield f"| {code(mutant.name)} | {mutant.red} | {escaped(mutant.says)} |"
    yield ""


def _comparisons(result: RunResult) -> Iterator[str]:
    quiet = (CheckVerdict.GREEN_ON_BOTH, CheckVerdict.SKIPPED)
    whole = result.kind == "matrix"
    builds = [build.name for build in result.builds]
    moved = [each for each in result.comparisons if whole or each.verdict not in quiet]
    if moved:
        yield from _comparison_table(moved, builds)
        yield ""
    for verdict in () if whole else quiet:
        rest = [each for each in result.comparisons if each.verdict is verdict]
        if rest:
            yield f"<details><summary>{len(rest)} {verdict}</summary>"
            yield from _grouped(rest, lambda each: f"- {escaped(each.check)}", lambda name: f"\n**{name}**\n")
            yield from ("", "</details>", "")
    yield from (f"{verdict_text(result)}.", "")


def _comparison_table(shown: Iterable[Comparison], builds: Sequence[str]) -> Iterator[str]:
    yield "| " + " | ".join(["check", *map(escaped, builds), "verdict"]) + " |"
    yield "|" + "---|" * (len(builds) + 2)

    def row(each: Comparison) -> str:
        cells = [_strong(each.tallies[build].word) for build in builds]
        return "| " + " | ".join([escaped(each.check), *cells, str(each.verdict)]) + " |"

    yield from _grouped(shown, row, lambda name: f"| **{name}** |" + " |" * (len(builds) + 1))


def _grouped(items: Iterable[_Named], line: Callable[[_Named], str], heading: Callable[[str], str]) -> Iterator[str]:
    """A line for each, and a heading wherever another scenario begins."""
    for (suite, scenario), each in groupby(items, key=lambda item: (item.suite, item.scenario)):
        yield heading(escaped(f"{suite} / {scenario}"))
        yield from map(line, each)


def _strong(word: str) -> str:
    return word if word in ("ok", "skip", "not run") else f"**{word}**"


def _checks(result: RunResult) -> Iterator[str]:
    """What is not ok with what was seen; the rest is folded away."""
    red = [check for check in result.checks if check.status is not Status.OK]
    left = [(scenario, finding) for scenario in result.scenarios for finding in scenario.left_behind]
    if red or left:
        yield from ("| check | status | seen |", "|---|---|---|")
        yield from _grouped(red, _red_row, lambda name: f"| **{name}** | | |")
        for scenario, finding in left:
            where = escaped(f"{scenario.suite} / {scenario.scenario}")
            yield f"| {LEFT_BEHIND} ({where}) | **FAIL** | {escaped(finding)} |"
        yield ""
    green = [check for check in result.checks if check.status is Status.OK]
    if green:
        yield f"<details><summary>{len(green)} ok</summary>"
        yield from _grouped(green, lambda check: f"- {escaped(check.check)}", lambda name: f"\n**{name}**\n")
        yield from ("", "</details>", "")


def _red_row(check: CheckResult) -> str:
    return f"| {escaped(check.check)} | {_strong(str(check.status))} | {_seen(check)} |"


def _seen(check: CheckResult) -> str:
    detail = check.detail if len(check.detail) <= _MAX_DETAIL else check.detail[:_MAX_DETAIL] + "…"
    return escaped(f"{detail} ({check.where})" if check.where else detail)
