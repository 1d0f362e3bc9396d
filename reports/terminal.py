"""The result as text for a person at a terminal: what is wrong first to last, the verdict at the end.

Pure: a result, a width and whether colour is wanted go in, text comes out. `on` asks a stream for the last two.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import TextIO

from tabulate import tabulate

from harness.result import (
    LEFT_BEHIND,
    CheckResult,
    CheckVerdict,
    Comparison,
    RunResult,
    ScenarioResult,
    Status,
    Verdict,
)
from reports import proof
from reports.counts import meaning, of_build, seconds_text, tally_text, timing_text, verdict_text
from reports.printable import printable, shortened, wrapped

_NARROWEST_NAMES = 36
_NAMED_ALIKE = 5
"""Of checks that are red for one and the same reason; the table above has them all."""
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_STATUS_COLOUR = {Status.OK: "green", Status.FAIL: "red", Status.ERROR: "yellow", Status.SKIP: "dim"}
_VERDICT_COLOUR = {
    CheckVerdict.FIXED: "green",
    CheckVerdict.BROKEN: "red",
    CheckVerdict.RED_ON_BOTH: "red",
    CheckVerdict.UNSTABLE: "yellow",
    CheckVerdict.ERROR: "yellow",
    CheckVerdict.UNPROVEN: "red",
}
_GOOD = {Verdict.OK, Verdict.PROVEN}
_CONVICTED = {Verdict.FAILED, Verdict.REGRESSION, Verdict.FAILING, Verdict.UNEXPECTED, Verdict.UNPROVEN}


@dataclass(frozen=True, slots=True)
class Screen:
    """How wide the text may be, and whether it may be coloured."""

    width: int = 100
    colour: bool = False

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.colour and colour else text


def on(stream: TextIO) -> Screen:
    """Colour on a terminal only, and never against NO_COLOR or a terminal that knows none."""
    is_terminal = stream.isatty()
    colour = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size((100, 24)).columns if is_terminal else 100
    return Screen(max(30, min(width, 140)), colour)


def render(result: RunResult, screen: Screen | None = None) -> str:
    screen = screen or Screen()
    if result.kind == proof.KIND:
        body = _proven(result, screen)
    else:
        body = _compared(result, screen) if result.comparisons else _listed(result, screen)
    return "\n".join([*body, *_closing(result, screen)]) + "\n"


def _listed(result: RunResult, screen: Screen) -> Iterator[str]:
    for scenario in result.scenarios:
        yield from scenario_lines(scenario, screen)
        yield ""


def scenario_lines(scenario: ScenarioResult, screen: Screen) -> Iterator[str]:
    """One scenario on one build: its checks in order, and under a red one what was expected, seen and where."""
    title = printable(f"{scenario.suite} / {scenario.scenario}")
    time = f"  {seconds_text(scenario.duration_s)}"
    yield screen.paint(shortened(title, screen.width - len(time)), "bold") + screen.paint(time, "dim")
    for check, following in zip_longest(scenario.checks, scenario.checks[1:]):
        yield _check_line(check.status, check.check, screen)
        # What made all of them ERROR (a build that never was ready) is said once, under the last.
        if check.status is not Status.OK and not _same_evidence(check, following):
            yield from _evidence(check, screen)
    if scenario.left_behind:
        yield _check_line(Status.FAIL, LEFT_BEHIND, screen)
        for finding in scenario.left_behind:
            yield from wrapped(finding, screen.width, " " * 8)
    if scenario.rerun and scenario.status in (Status.FAIL, Status.ERROR):
        # On one line however narrow the screen, for it is there to be copied.
        yield f"        again: {printable(scenario.rerun)}"


def _check_line(status: Status, name: str, screen: Screen) -> str:
    first, *rest = wrapped(name, screen.width - 8) or [""]
    word = screen.paint(f"{status:<5}", _STATUS_COLOUR[status])
    return "\n".join([f"  {word} {first}", *(f"        {line}" for line in rest)])


def _same_evidence(check: CheckResult, following: CheckResult | None) -> bool:
    return following is not None and (check.status, check.detail, check.where) == (
        following.status,
        following.detail,
        following.where,
    )


def _evidence(check: CheckResult, screen: Screen) -> Iterator[str]:
    yield from wrapped(check.detail, screen.width, " " * 8)
    if check.where:
        yield from (screen.paint(line, "dim") for line in wrapped(f"in {check.where}", screen.width, " " * 8))


def _proven(result: RunResult, screen: Screen) -> Iterator[str]:
    """What is not proven, and each mutant with the number of checks it turned red."""
    last = None
    for each in proof.lacking(result):
        if (each.suite, each.scenario) != last:
            last = (each.suite, each.scenario)
            yield from (screen.paint(line, "bold") for line in wrapped(" / ".join(last), screen.width))
        colour = _VERDICT_COLOUR.get(each.verdict, "yellow")
        first, *rest = wrapped(each.check, screen.width - 12) or [""]
        yield f"  {screen.paint(f'{each.verdict:<9}', colour)} {first}"
        yield from (f"            {line}" for line in rest)
    if last is not None:
        yield ""
    for mutant in proof.mutants(result):
        if mutant.tests:
            red = screen.paint("   tests", "dim")
        else:
            red = screen.paint(f"{mutant.red:>4} red", "green" if mutant.red else "red")
        first, *rest = wrapped(f"{mutant.name}: {mutant.says}", screen.width - 10) or [""]
        yield f"{red}  {first}"
        yield from (f"          {line}" for line in rest)
    yield ""


def _compared(result: RunResult, screen: Screen) -> Iterator[str]:
    unremarkable = (CheckVerdict.GREEN_ON_BOTH, CheckVerdict.SKIPPED)
    shown = [each for each in result.comparisons if result.kind == "matrix" or each.verdict not in unremarkable]
    builds = [build.name for build in result.builds]
    room = _room_for_names(shown, builds, screen)
    if shown and room < _NARROWEST_NAMES:
        yield from _stacked(shown, builds, screen)
    elif shown:
        yield from _table(shown, builds, room, screen)
    for verdict in unremarkable:
        left_out = sum(each.verdict is verdict for each in result.comparisons) if result.kind != "matrix" else 0
        if left_out:
            yield screen.paint(f"and {left_out} {'checks' if left_out > 1 else 'check'} {verdict}", "dim")
    yield ""
    yield from _red_on_new(result, screen)
    for build in result.builds:
        yield from _build_lines(result, build.name, screen)
    yield ""


def _room_for_names(shown: Sequence[Comparison], builds: Sequence[str], screen: Screen) -> int:
    """What a table leaves for the names of the checks: a column for each build and the verdict stand beside them."""
    columns = [max([len(build), *(len(each.tallies[build].word) for each in shown)]) + 2 for build in builds]
    return screen.width - sum(columns) - max(len(verdict) for verdict in CheckVerdict) - 2


def _table(shown: Sequence[Comparison], builds: Sequence[str], room: int, screen: Screen) -> Iterator[str]:
    """The before/after table, one heading row for each scenario."""
    rows: list[list[str]] = []
    last = None
    for each in shown:
        if (each.suite, each.scenario) != last:
            last = (each.suite, each.scenario)
            title = wrapped(" / ".join(last), room)
            rows.append(["\n".join(screen.paint(line, "bold") for line in title)])
        name = "\n".join(wrapped(each.check, room - 2, "  "))
        cells = [_cell(each, build, screen) for build in builds]
        rows.append([name, *cells, screen.paint(str(each.verdict), _VERDICT_COLOUR.get(each.verdict, ""))])
    headers = ["check", *map(printable, builds), "verdict"]
    yield tabulate(rows, headers, tablefmt="simple", disable_numparse=True, preserve_whitespace=True)


def _stacked(shown: Sequence[Comparison], builds: Sequence[str], screen: Screen) -> Iterator[str]:
    """The same for a narrow terminal: the name on its own lines, the answers under it."""
    last = None
    for each in shown:
        if (each.suite, each.scenario) != last:
            last = (each.suite, each.scenario)
            yield from (screen.paint(line, "bold") for line in wrapped(" / ".join(last), screen.width))
        yield from wrapped(each.check, screen.width, "  ")
        answers = [f"{printable(build)} {_cell(each, build, screen)}" for build in builds]
        verdict = screen.paint(str(each.verdict), _VERDICT_COLOUR.get(each.verdict, ""))
        length = sum(len(build) + len(each.tallies[build].word) + 3 for build in builds) + len(each.verdict) + 4
        yield from (
            [f"    {', '.join(answers)}: {verdict}"]
            if length <= screen.width
            else (f"    {answer}" for answer in (*answers, verdict))
        )


def _cell(comparison: Comparison, build: str, screen: Screen) -> str:
    tally = comparison.tallies[build]
    colour = "red" if tally.fail else "yellow" if tally.error else "green" if tally.ok else "dim"
    return screen.paint(tally.word, colour)


def _red_on_new(result: RunResult, screen: Screen) -> Iterator[str]:
    """The evidence for what convicts: red or unobserved on the last build, and unobserved on the first."""
    first, last = result.builds[0].name, result.builds[-1].name
    shown: dict[tuple[str, str, str, str], CheckResult] = {}
    for check in result.checks:
        convicts = check.build == last and check.status in (Status.FAIL, Status.ERROR)
        unseen = check.build == first and check.status is Status.ERROR
        if convicts or unseen:
            shown.setdefault((check.suite, check.scenario, check.check, check.build), check)
    for _, alike in groupby(shown.values(), lambda each: (each.build, each.status, each.detail, each.where)):
        checks = list(alike)
        for check in checks[:_NAMED_ALIKE]:
            yield _check_line(check.status, f"{check.check} ({printable(check.build)})", screen)
        if len(checks) > _NAMED_ALIKE:
            yield f"        and {len(checks) - _NAMED_ALIKE} more"
        yield from _evidence(checks[0], screen)
    if shown:
        yield ""


def _build_lines(result: RunResult, name: str, screen: Screen) -> Iterator[str]:
    build = next(build for build in result.builds if build.name == name)
    digest = str(build.fingerprint.get("digest") or "")[:12]
    command = " ".join(build.command)
    counted = tally_text(of_build(result, name))
    yield from wrapped(f"{name}: {counted}   {command}   {digest}".rstrip(), screen.width)


def _closing(result: RunResult, screen: Screen) -> Iterator[str]:
    for warning in dict.fromkeys(result.warnings):
        yield from (screen.paint(line, "yellow") for line in wrapped(f"warning: {warning}", screen.width))
    for note in dict.fromkeys([*result.notes, *(note for scenario in result.scenarios for note in scenario.notes)]):
        yield from wrapped(note, screen.width)
    for timing in result.timings:
        yield from wrapped(timing_text(timing), screen.width)
    if result.partial:
        yield screen.paint("this result is partial: the run was cut short", "yellow")
    if result.folder:
        yield screen.paint(f"folder: {printable(result.folder)}", "dim")
    colour = "green" if result.verdict in _GOOD else "red" if result.verdict in _CONVICTED else "yellow"
    figures = verdict_text(result) or f"{tally_text(result.checks)} in {_scenarios(result)}"
    word = screen.paint(str(result.verdict), colour)
    yield from _verdict_lines(word, str(result.verdict), f"{meaning(result)} ({figures})", screen)


def _verdict_lines(word: str, plain: str, text: str, screen: Screen) -> Iterable[str]:
    first, *rest = wrapped(f"{plain}: {text}", screen.width)
    return [word + first.removeprefix(plain), *rest]


def _scenarios(result: RunResult) -> str:
    count = len(result.scenarios)
    return f"{count} scenario{'s' if count != 1 else ''}, {seconds_text(result.duration_s)}"
