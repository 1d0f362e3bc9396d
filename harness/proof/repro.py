"""`kvgate repro`: one scenario so that a person can replay it: by hand from a folder, or live and step by step."""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, UsageError
from harness.near import did_you_mean
from harness.plan import Folders, Options
from harness.profiles import Build
from harness.proof import repro_folder
from harness.proof.contenders import build_of
from harness.proof.repro_folder import Replay
from harness.proof.repro_prompt import Attendant
from harness.proof.run_folder import RESULT, new_run_folder
from harness.result import RunResult, Status
from harness.run import Run
from harness.runner import run_scenario
from harness.scenario import Kind, Scenario
from harness.selection import select
from harness.session import Session

DESCRIPTION = """Writes a folder from which a scenario can be replayed without the harness: a script for each process,
the requests for curl, logs and journals of the run it was taken from.

WHAT is a scenario, which is then run once on the build given, or the folder of an earlier run. With --hold or
--interactive everything is started and stays alive while you look at it.

exit status: 0 the folder is there (or you quit); 1 a held run's requests failed; 2 usage; 3 it could not be run."""

_DAY_S = 86_400.0
_LARGEST_COPIED = 16 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("what", metavar="WHAT", help="a scenario, or the folder of an earlier run")
    for kind in Kind:
        parser.add_argument(f"--{kind}", metavar="CMD", help=f"the command that starts the {kind} under test")
    parser.add_argument("--profile", metavar="FILE", help="how the build is started")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for the build")
    parser.add_argument(
        "--scenario", metavar="NAME", help="of an earlier run, this one (the first red one unless said)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where the folder is made (inside the run's unless said)"
    )
    parser.add_argument("--hold", action="append", default=[], metavar="POINT", help="stop the fake decoder there")
    parser.add_argument("-i", "--interactive", action="store_true", help="stay alive and ask what to do")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the run's folder is made")


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.what)
    live = bool(arguments.hold or arguments.interactive)
    if live and arguments.out is not None:
        raise UsageError("--out is where a replay is written, and --hold and --interactive write none")
    if path.is_dir() and (path / RESULT).exists():
        if live:
            raise UsageError("--hold and --interactive start a scenario: give the scenario's file")
        evidence = _evidence_in(path, arguments.scenario)
    else:
        scenario = _one(arguments.what)
        build = _build(arguments, scenario)
        folder = new_run_folder(arguments.runs, "repro")
        evidence = folder / scenario.suite / scenario.name
        if live:
            return _live(scenario, build, evidence, arguments.hold)
        run_scenario(replace(scenario, known_red=""), build, folder=evidence)
    _write(evidence, arguments.out or evidence / "replay")
    return 0


def _one(word: str) -> Scenario:
    found = select([word])
    if len(found) != 1:
        raise UsageError(f"{word} holds {len(found)} scenarios; repro takes one")
    return found[0]


def _build(arguments: argparse.Namespace, scenario: Scenario) -> Build:
    kind = scenario.under_test
    command = getattr(arguments, str(kind))
    if command is None:
        raise UsageError(f"{scenario.file} puts {kind.one} under test: say --{kind} CMD")
    return build_of("build", command, kind=kind, profile=arguments.profile, env=arguments.env, said_by=f"--{kind}")


def _evidence_in(folder: Path, name: str | None) -> Path:
    """The evidence folder itself, or of a whole run the scenario called `name`, or its first red one."""
    told = _read(folder)
    if "commands" in told:
        return folder
    try:
        result = RunResult.from_json(told)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{folder / RESULT} is no result of kvgate: {error}") from None
    found = {f"{each.suite}/{each.scenario}": each for each in result.scenarios}
    if name is not None:
        chosen = next((each for key, each in found.items() if name in (key, each.scenario)), None)
        if chosen is None:
            raise UsageError(f"--scenario: the run has no {name!r}{did_you_mean(name, found)}")
    else:
        chosen = next((each for each in result.scenarios if each.status in (Status.FAIL, Status.ERROR)), None)
        chosen = chosen or next(iter(result.scenarios), None)
    if chosen is None or not Path(chosen.folder).is_dir():
        raise UsageError(f"{folder} holds no evidence to replay")
    return Path(chosen.folder)


def _read(folder: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((folder / RESULT).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / RESULT} cannot be read: {error}") from None
    return told


def _write(evidence: Path, out: Path) -> None:
    told = _read(evidence)
    if not told["commands"]:
        raise HarnessError(f"nothing was started, so there is nothing to replay: {'; '.join(told['errors'])}")
    seen = [f"{check['status']:<5} {check['check']}" for check in told["checks"]]
    replay = Replay(
        title=f"{told['scenario']}",
        commands=told["commands"],
        variables=told["variables"],
        urls=told["urls"],
        folders=told["folders"],
        requests=repro_folder.requests_of(evidence, told["requests"]),
        seen="\n".join(seen),
        control=any("--control" in argv for argv in told["commands"].values()),
        again=told["again"],
    )
    out.mkdir(parents=True, exist_ok=True)
    steps = repro_folder.write(out, replay)
    _copy_evidence(evidence, out / "seen")
    print("\n".join([*seen, "", f"cd {out}", *steps]))


def _copy_evidence(evidence: Path, out: Path) -> None:
    """Logs and journals of the run it was taken from, so that the folder is whole when it is mailed."""
    out.mkdir(exist_ok=True)
    for file in sorted(evidence.iterdir()):
        if file.suffix in (".log", ".jsonl", ".json") and file.stat().st_size <= _LARGEST_COPIED:
            shutil.copy(file, out / file.name)


def _live(scenario: Scenario, build: Build, evidence: Path, hold: list[str]) -> int:
    """Everything is started and asked, with a person in attendance; no deadline of the harness's own ends it."""
    patient = tuple(replace(request, deadline_s=_DAY_S) for request in scenario.requests)
    scenario = replace(scenario, requests=patient, budget_s=2 * _DAY_S, known_red="")
    with Session() as session:
        run = Run(session, scenario, build, Folders(evidence, session.next_scratch()), Options())
        run.attend = attendant = Attendant(hold)
        session.run(run.act())
    return attendant.status
