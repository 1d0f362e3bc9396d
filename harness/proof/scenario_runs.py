"""Scenarios on builds as a series: the runner behind it, the run folder, and what is told meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from harness.profiles import Build
from harness.proof.contenders import contender
from harness.proof.history import History, default_file, keep_and_tell
from harness.proof.report import Report
from harness.proof.run_folder import new_run_folder, write_result
from harness.proof.schedule import Job, interleaved
from harness.proof.series import Conclude, Series
from harness.result import RunResult, ScenarioResult
from harness.runner import Options, Session, run_scenario
from harness.scenario import Scenario


def run_series(
    kind: str,
    builds: Sequence[Build],
    scenarios: Sequence[Scenario],
    report: Report,
    conclude: Conclude,
    *,
    runs: Path | None = None,
    repeat: int = 1,
    rng: Random | None = None,
    options: Options | None = None,
    enough: Callable[[ScenarioResult], bool] = lambda _: False,
    origins: Mapping[str, Mapping[str, Any]] | None = None,
) -> RunResult:
    """Every scenario on every build, judged by `conclude`; the result is in the run folder too."""
    jobs = list(interleaved(scenarios, [build.name for build in builds], repeat, rng))
    by_name = {build.name: build for build in builds}
    with Session() as session:

        def run_job(job: Job[Scenario], folder: Path) -> ScenarioResult:
            build = by_name[job.build]
            return run_scenario(job.scenario, build, folder=folder, options=options or Options(), session=session)

        series = Series(
            kind=kind,
            contenders=[contender(build, (origins or {}).get(build.name)) for build in builds],
            jobs=jobs,
            folder=new_run_folder(runs, kind),
            run_job=run_job,
            conclude=conclude,
            listener=report.listener(len(jobs)),
            names=lambda scenario: (scenario.suite, scenario.name),
            enough=enough,
        )
        result = series.run()
    return _with_history(result, scenarios)


def _with_history(result: RunResult, scenarios: Sequence[Scenario]) -> RunResult:
    """The result with what earlier runs of the same builds said otherwise.

    What is known to be red is no part of it: there FAIL is said of a check that held.
    """
    files = {(each.suite, each.name): each.file for each in scenarios if not each.known_red}
    notes = keep_and_tell(History(default_file()), result, files)
    if not notes:
        return result
    result = replace(result, notes=(*result.notes, *notes))
    with suppress(OSError):  # the series has said so already
        write_result(Path(result.folder), result)
    return result
