"""The page: verdict, builds, table of checks, and for each scenario its findings and its timeline."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from urllib.parse import quote

from harness.result import (
    LEFT_BEHIND,
    BuildInfo,
    CheckResult,
    CheckVerdict,
    Comparison,
    RunResult,
    ScenarioResult,
    Status,
    Tally,
    Verdict,
)
from reports import proof
from reports.counts import meaning, of_build, seconds_text, tally_text, timing_text, verdict_text
from reports.html import timeline
from reports.html.markup import cell, code, escaped, escaped_lines, table

_STATUS_CLASS = {Status.OK: "good", Status.FAIL: "bad", Status.ERROR: "unsure", Status.SKIP: "faint"}
_VERDICT_CLASS = {
    CheckVerdict.FIXED: "good",
    CheckVerdict.BROKEN: "bad",
    CheckVerdict.RED_ON_BOTH: "bad",
    CheckVerdict.UNSTABLE: "unsure",
    CheckVerdict.ERROR: "unsure",
}
_OVERALL_CLASS = {
    Verdict.OK: "good",
    Verdict.PROVEN: "good",
    Verdict.FAILED: "bad",
    Verdict.REGRESSION: "bad",
    Verdict.FAILING: "bad",
    Verdict.UNEXPECTED: "bad",
    Verdict.UNPROVEN: "bad",
}
# Nothing may be loaded or run, even if hostile text found a way into the page.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render(result: RunResult) -> str:
    title = f"kvgate {result.kind}: {result.verdict}"
    style = files("reports.html").joinpath("style.css").read_text("utf-8")
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escaped(title)}</title><style>{style}</style></head><body><main>",
            *_heading(result),
            *_builds(result),
            *_checks(result),
            *_scenarios(result),
            "</main></body></html>\n",
        ]
    )


def _heading(result: RunResult) -> Iterator[str]:
    kind = _OVERALL_CLASS.get(result.verdict, "unsure")
    yield f'<header><h1>kvgate {escaped(result.kind)}: <span class="{kind}">{result.verdict}</span></h1>'
    figures = verdict_text(result) or tally_text(result.checks)
    yield f"<p>{escaped(meaning(result))}. {escaped(figures)}.</p>"
    if result.partial:
        yield '<p class="unsure">This result is partial: the run was cut short.</p>'
    when = f"{result.started_at}, " if result.started_at else ""
    yield f'<p class="faint">{escaped(when)}{seconds_text(result.duration_s)}</p></header>'
    remarks = [*result.warnings, *result.notes, *map(timing_text, result.timings)]
    if remarks:
        yield f"<ul>{''.join(f'<li>{escaped(remark)}</li>' for remark in remarks)}</ul>"


def _builds(result: RunResult) -> Iterator[str]:
    if not result.builds:
        return
    yield "<h2>Builds</h2>"
    for build in result.builds:
        counted = tally_text(of_build(result, build.name))
        yield f'<details class="build"><summary><b>{escaped(build.name)}</b> {code(" ".join(build.command))} '
        yield f"<span>{counted}</span></summary>{_fingerprint(build)}</details>"


def _fingerprint(build: BuildInfo) -> str:
    rows = [[f'<th scope="row">{escaped(key)}</th>', cell(_value(value))] for key, value in _facts(build)]
    return table([], rows, "facts") if rows else "<p>no fingerprint was taken</p>"


def _facts(build: BuildInfo) -> Iterator[tuple[str, object]]:
    """The fingerprint in few lines; what is a list of many files is counted, and whole in the JSON."""
    for key, value in build.fingerprint.items():
        if isinstance(value, dict):
            yield key, [_named(name, item) for name, item in value.items()]
        elif isinstance(value, list):
            yield key, [_one(item) for item in value]
        else:
            yield key, value


def _named(name: str, item: object) -> str:
    """An entry of a mapping: a package with its files, or a plain value such as where a ref was built."""
    return f"{name} ({item['files']} files)" if isinstance(item, dict) and "files" in item else f"{name}: {item}"


def _one(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    if "commit" in item:
        return f"{item['root']} at {item['commit'][:12]}{' with changes' if item['dirty'] else ''}"
    return f"{item.get('path')} {str(item.get('sha256'))[:12]}"


def _value(value: object) -> str:
    if value is None or value == []:
        return '<span class="faint">none</span>'
    if isinstance(value, list):
        return "<br>".join(escaped(str(item)) for item in value)
    return escaped(str(value))


def _checks(result: RunResult) -> Iterator[str]:
    yield "<h2>Checks</h2>"
    if result.kind == proof.KIND:
        yield table(["check", "red on", "verdict"], _proof_rows(result.comparisons), "proof")
    elif result.comparisons:
        builds = [build.name for build in result.builds]
        yield table(["check", *map(escaped, builds), "verdict"], _comparison_rows(result.comparisons, builds), "checks")
    elif result.scenarios:
        yield table(["check", "status"], _check_rows(result.scenarios), "checks")
    else:
        yield "<p>No scenario was run.</p>"


def _comparison_rows(comparisons: Sequence[Comparison], builds: Sequence[str]) -> Iterator[list[str]]:
    last = None
    for each in comparisons:
        if (each.suite, each.scenario) != last:
            last = (each.suite, each.scenario)
            yield [_group(each.suite, each.scenario, len(builds) + 2)]
        cells = [cell(each.tallies[build].word, _tally_class(each.tallies[build])) for build in builds]
        yield [cell(escaped(each.check)), *cells, cell(str(each.verdict), _VERDICT_CLASS.get(each.verdict, "faint"))]


def _proof_rows(comparisons: Sequence[Comparison]) -> Iterator[list[str]]:
    last = None
    for each in comparisons:
        if (each.suite, each.scenario) != last:
            last = (each.suite, each.scenario)
            yield [_group(each.suite, each.scenario, 3)]
        red = escaped(", ".join(proof.red_on(each)))
        kind = "good" if each.verdict is CheckVerdict.PROVEN else _VERDICT_CLASS.get(each.verdict, "bad")
        yield [cell(escaped(each.check)), cell(red, "faint"), cell(str(each.verdict), kind)]


def _tally_class(tally: Tally) -> str:
    return "bad" if tally.fail else "unsure" if tally.error else "good" if tally.ok else "faint"


def _check_rows(scenarios: Iterable[ScenarioResult]) -> Iterator[list[str]]:
    for scenario in scenarios:
        yield [_group(scenario.suite, scenario.scenario, 2)]
        for check in scenario.checks:
            yield [cell(escaped(check.check)), cell(str(check.status), _STATUS_CLASS[check.status])]
        if scenario.left_behind:
            yield [cell(LEFT_BEHIND), cell(str(Status.FAIL), "bad")]


def _group(suite: str, scenario: str, columns: int) -> str:
    return f'<th class="group" scope="rowgroup" colspan="{columns}">{escaped(suite)} / {escaped(scenario)}</th>'


def _scenarios(result: RunResult) -> Iterator[str]:
    if result.scenarios:
        yield "<h2>Scenarios</h2>"
    for scenario in result.scenarios:
        yield from _scenario(scenario, result.folder)


def _scenario(scenario: ScenarioResult, run_folder: str) -> Iterator[str]:
    shown = " open" if scenario.status in (Status.FAIL, Status.ERROR) else ""
    turn = f", turn {scenario.repeat + 1}" if scenario.repeat else ""
    name = f"{scenario.suite} / {scenario.scenario}"
    yield f'<details class="scenario"{shown}><summary><b>{escaped(name)}</b> on {escaped(scenario.build)}{turn} '
    yield f'<span class="{_STATUS_CLASS[scenario.status]}">{tally_text(scenario.checks)}</span></summary>'
    yield from (f"<p>{escaped(note)}</p>" for note in scenario.notes)
    red = [check for check in scenario.checks if check.status is not Status.OK]
    for _, alike in groupby(red, key=lambda check: (check.status, check.detail, check.where)):
        yield _finding(list(alike))
    if scenario.left_behind:
        yield f'<div class="finding"><b class="bad">FAIL</b> {LEFT_BEHIND}'
        yield f"<pre>{escaped_lines(chr(10).join(scenario.left_behind))}</pre></div>"
    yield timeline.render(scenario.timeline)
    if scenario.rerun:
        yield f'<p class="faint">again: {code(scenario.rerun)}</p>'
    yield _evidence(scenario, run_folder)
    yield "</details>"


def _finding(alike: Sequence[CheckResult]) -> str:
    """Checks of one status that were found so for the same reason, which is said once."""
    first = alike[0]
    where = f'<p class="faint">in {escaped(first.where)}</p>' if first.where else ""
    status = f'<b class="{_STATUS_CLASS[first.status]}">{first.status}</b>'
    names = "<br>".join(f"{status} {escaped(check.check)}" for check in alike)
    return f'<div class="finding">{names}<pre>{escaped_lines(first.detail)}</pre>{where}</div>'


def _evidence(scenario: ScenarioResult, run_folder: str) -> str:
    """A link to the logs and journals where they lie below the page, so that a folder that was moved still works."""
    if not scenario.folder:
        return ""
    shown = f"logs and journals: {escaped(scenario.folder)}"
    if run_folder and scenario.folder.startswith(run_folder + os.sep):
        inside = os.path.relpath(scenario.folder, run_folder)
        shown = f'logs and journals: <a href="{quote(inside)}/">{escaped(inside)}</a>'
    return f'<p class="faint">{shown}</p>'
