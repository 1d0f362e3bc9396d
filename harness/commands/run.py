"""`kvgate run`: scenarios on one build.

exit status: 0 all ok; 1 a check FAILed, or the build left something behind; 2 usage or a bad scenario; 3 something
could not be observed, nothing was, or the build changed while it was tested.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import Unavailable, UsageError
from harness.models import resolve
from harness.near import did_you_mean
from harness.plan import TOY, Options
from harness.proof.contenders import build_of
from harness.proof.scenario_runs import run_series
from harness.result import RunResult, ScenarioResult, Status, Verdict, worst
from harness.scenario import Kind, Scenario
from harness.selection import select
from reports import outputs

_KINDS = tuple(Kind)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="files, folders or suites; all unless said")
    builds = parser.add_mutually_exclusive_group()
    for kind in _KINDS:
        builds.add_argument(f"--{kind}", metavar="CMD", help=f"the command that starts the {kind} under test")
    parser.add_argument("--profile", metavar="FILE", help="how the build is started")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for the build")
    parser.add_argument("--check", action="append", metavar="NAME", help="judge this check alone (may be repeated)")
    parser.add_argument("--list", action="store_true", help="list scenarios and checks, and run nothing")
    parser.add_argument("--fail-fast", action="store_true", help="stop after the first scenario that is not ok")
    parser.add_argument("--model", metavar="PATH", help="the decoder's model instead of the scenario's")
    parser.add_argument("--decoder-args", default="", metavar="'...'", help="more flags for every decoder")
    parser.add_argument("--real", action="store_true", help="a real server or model that is missing is an error")
    parser.add_argument("--ready-timeout", type=_seconds, default=Options().ready_s, metavar="S",
                        help="how long the build may take until it is ready (%(default)g)")  # fmt: skip
    parser.add_argument(
        "--bisect", action="store_true", help="for `git bisect run`: exit 0 good, 1 bad, 125 whatever else happened"
    )
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the run's folder is made")
    outputs.add_arguments(parser)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("expected seconds above 0")
    return seconds


def run(arguments: argparse.Namespace) -> int:
    kind, command = _build_under_test(arguments)
    scenarios = _selected(arguments, kind)
    if arguments.list:
        print("\n".join(_listed(scenarios, arguments.check)))
        return 0
    if command is None:
        flags = " or ".join(f"--{each} CMD" for each in _KINDS)
        raise UsageError(f"there is no build to test; say {flags}")
    build = build_of("build", command, kind=kind, profile=arguments.profile, env=arguments.env, said_by=f"--{kind}")
    refuse_bad_model(arguments.model)
    report = outputs.Outputs(arguments)
    result = run_series(
        "run",
        [build],
        scenarios,
        report,
        conclude,
        runs=arguments.runs,
        options=_options(arguments),
        enough=_stop if arguments.fail_fast else _go_on,
    )
    return report.show(result)


def _build_under_test(arguments: argparse.Namespace) -> tuple[Kind, str | None]:
    for kind in _KINDS:
        if (command := getattr(arguments, str(kind))) is not None:
            return kind, command
    return Kind.ROUTER, None


def _selected(arguments: argparse.Namespace, kind: Kind) -> tuple[Scenario, ...]:
    """The scenarios of that kind of build that hold one of the wanted checks."""
    found = select(arguments.scenarios)
    fitting = tuple(each for each in found if each.under_test is kind)
    if not fitting:
        wanted = found[0].under_test
        raise UsageError(
            f"none of these {len(found)} scenarios puts {kind.one} under test but {wanted.one}: say --{wanted} CMD"
        )
    if arguments.scenarios and len(fitting) < len(found) and not arguments.list:
        other = next(each for each in found if each.under_test is not kind)
        raise UsageError(f"{other.file} puts {other.under_test.one} under test, not {kind.one}")
    return fitting if arguments.check is None else _with_checks(fitting, arguments.check)


def _with_checks(scenarios: Sequence[Scenario], wanted: Iterable[str]) -> tuple[Scenario, ...]:
    known = [named.name for scenario in scenarios for named in scenario.checks]
    for name in wanted:
        if name not in known:
            near = did_you_mean(name, known)
            raise UsageError(f"--check: no check is called {name!r}{near if 'mean' in near else ''}")
    names = set(wanted)
    return tuple(each for each in scenarios if names & {named.name for named in each.checks})


def _listed(scenarios: Iterable[Scenario], wanted: Sequence[str] | None) -> Iterable[str]:
    count = 0
    for scenario in scenarios:
        yield f"{scenario.suite} / {scenario.name}: {scenario.scenario}"
        for named in scenario.checks:
            if wanted is None or named.name in wanted:
                count += 1
                yield f"  {named.name}"
    yield f"{count} check{'s' if count != 1 else ''}"


def _options(arguments: argparse.Namespace) -> Options:
    try:
        decoder_args = tuple(shlex.split(arguments.decoder_args))
    except ValueError as error:
        raise UsageError(f"--decoder-args: {error}") from None
    return Options(
        model=arguments.model,
        decoder_args=decoder_args,
        real=arguments.real,
        checks=None if arguments.check is None else frozenset(arguments.check),
        ready_s=arguments.ready_timeout,
    )


def refuse_bad_model(model: str | None) -> None:
    """A model file that is missing or damaged is said before anything is started; a name may still be fetched."""
    if model is not None and model.partition(":")[0] != TOY:
        with contextlib.suppress(Unavailable):
            resolve(model)


def _go_on(result: ScenarioResult) -> bool:
    return False


def _stop(result: ScenarioResult) -> bool:
    return result.status in (Status.FAIL, Status.ERROR)


def conclude(found: RunResult, tainted: bool) -> RunResult:
    """The verdict on one build. Nothing observed at all is no success."""
    status = worst(scenario.status for scenario in found.scenarios)
    verdict = {Status.OK: Verdict.OK, Status.FAIL: Verdict.FAILED}.get(status, Verdict.ERROR)
    return replace(found, verdict=Verdict.TAINTED if tainted else verdict)
