"""One scenario on one build into its result: act, record, judge.

What cannot be observed is ERROR and never red: a build that is never ready, a decoder that dies, a budget that
runs out. A real server or model that is missing is a skip, unless it was asked for.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from harness.errors import HarnessError, Unavailable
from harness.judgement import judge_all, skipped
from harness.plan import Folders, Options
from harness.profiles import Build
from harness.record import Exchange, Record
from harness.result import CheckResult, ScenarioResult
from harness.run import Run
from harness.scenario import Scenario
from harness.session import Session
from harness.timeline import timeline

__all__ = ["Options", "Session", "run_scenario"]

_NO_OPTIONS = Options()


def run_scenario(
    scenario: Scenario,
    build: Build,
    *,
    folder: Path,
    options: Options = _NO_OPTIONS,
    session: Session | None = None,
) -> ScenarioResult:
    """Blocking. The evidence goes to `folder`. A `session` is shared by the runs of one process."""
    if session is None:
        with Session() as own:
            return run_scenario(scenario, build, folder=folder, options=options, session=own)
    began = time.monotonic()
    run = Run(session, scenario, build, Folders(folder.resolve(), session.next_scratch()), options)
    record = Record()
    try:
        record = session.run(run.act())
    except Unavailable as missing:
        if not options.real:
            return _result(run, record, skipped(scenario, build, str(missing), options.checks), began)
        run.cast.errors.insert(0, str(missing))
    except HarnessError as error:
        run.cast.errors.insert(0, str(error))
    return _result(run, record, judge_all(scenario, build, record, run.cast.errors, options.checks), began)


def _result(run: Run, record: Record, checks: tuple[CheckResult, ...], began: float) -> ScenarioResult:
    result = ScenarioResult(
        suite=run.scenario.suite,
        scenario=run.scenario.name,
        build=run.build.name,
        checks=checks,
        left_behind=tuple(run.cast.findings),
        duration_s=round(time.monotonic() - began, 3),
        folder=str(run.folders.evidence),
        rerun=rerun_command(run.scenario, run.build, run.options),
        timeline=timeline(record, run.scenario.under_test),
        notes=(*_of_the_servers(run), *_notes(run.scenario, record.exchanges)),
    )
    _keep(run, result)
    return result


def rerun_command(scenario: Scenario, build: Build, options: Options = _NO_OPTIONS) -> str:
    """The command that runs this scenario alone on this build. `--check NAME` narrows it to one check."""
    environment = [f"{name}={value}" for name, value in build.env.items()]
    command = ["env", *environment, *build.command] if environment else list(build.command)
    words = ["kvgate", "run", str(scenario.file), f"--{scenario.under_test}", shlex.join(command)]
    if build.profile.file is not None:
        words += ["--profile", str(build.profile.file)]
    return shlex.join([*words, *_said_again(options)])


def _said_again(options: Options) -> Iterator[str]:
    """The flags of `kvgate run` for what a person asked for on top of the scenario."""
    if options.model is not None:
        yield from ("--model", options.model)
    if options.decoder_args:
        yield f"--decoder-args={shlex.join(options.decoder_args)}"
    if options.real:
        yield "--real"
    if options.ready_s != _NO_OPTIONS.ready_s:
        yield from ("--ready-timeout", f"{options.ready_s:g}")


def _of_the_servers(run: Run) -> Iterator[str]:
    """What had to be done to have a real server, once however many there are of it."""
    yield from dict.fromkeys(note for decoder in run.cast.decoders.values() for note in decoder.notes)


def _notes(scenario: Scenario, exchanges: tuple[Exchange, ...]) -> tuple[str, ...]:
    if not scenario.note or not exchanges or exchanges[0].plain is None:
        return ()
    first, plain = exchanges[0].reply.server_timings, exchanges[0].plain.reply.server_timings
    values = {"prompt_n": first.get("prompt_n"), "plain_prompt_n": plain.get("prompt_n")}
    return (f"{scenario.suite}: {scenario.note.format_map(values)}",)


def _keep(run: Run, result: ScenarioResult) -> None:
    told = {
        "scenario": str(run.scenario.file),
        "status": str(result.status),
        "left_behind": list(result.left_behind),
        "errors": run.cast.errors,
        "commands": {who: list(argv) for who, argv in run.cast.argvs.items()},
        "variables": run.cast.envs,
        "urls": run.cast.urls,
        "folders": [str(run.folders.evidence), str(run.folders.scratch)],
        "requests": [request.name for request in run.scenario.requests],
        "again": result.rerun,
        "checks": [
            {"check": each.check, "status": str(each.status), "detail": each.detail, "where": each.where}
            for each in result.checks
        ],
    }
    (run.folders.evidence / "result.json").write_text(json.dumps(told, indent=1) + "\n")
