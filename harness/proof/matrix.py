"""`kvgate matrix`: the same scenarios on several builds, to see which fixes compose."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from harness.errors import UsageError
from harness.proof.ab import kind_of
from harness.proof.contenders import build_of
from harness.proof.kinship import the_same
from harness.proof.report import Report
from harness.proof.scenario_runs import run_series
from harness.proof.verdict import compare, overall
from harness.result import RunResult
from harness.selection import select

DESCRIPTION = """Runs the same scenarios on several builds, in turn, and shows them in one table.

Give the base first, each fix alone, and all fixes together last: the verdict is the last build's against the
first, and a check that one fix alone turns green and all together leave red is broken.

exit status: as of `kvgate ab`, with the first build as old and the last as new."""

_BUILD = re.compile(r"(?P<name>[A-Za-z][\w.+-]*)=(?P<command>.*)", re.S)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="+", metavar="NAME=CMD | SCENARIO", help="builds, two or more, and scenarios")
    parser.add_argument("--profile", metavar="FILE", help="how the builds are started")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run everything N times")
    parser.add_argument("--seed", type=int, metavar="S", help="shuffle the order with this seed (0 where repeated)")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the run's folder is made")


def run(arguments: argparse.Namespace, report: Report) -> int:
    if arguments.repeat < 1:
        raise UsageError("--repeat: expected at least 1")
    named, words = parted(arguments.words)
    scenarios = [replace(each, known_red="") for each in select(words)]
    kind = kind_of(scenarios)
    builds = [build_of(name, command, kind=kind, profile=arguments.profile, said_by=name) for name, command in named]
    names = [build.name for build in builds]
    seed = 0 if arguments.seed is None and arguments.repeat > 1 else arguments.seed

    def conclude(found: RunResult, tainted: bool) -> RunResult:
        comparisons = compare(found.scenarios, names)
        verdict = overall(comparisons, tainted=tainted, old=names[0], new=names[-1])
        notes = (*found.notes, *the_same(found.builds))
        return replace(found, verdict=verdict, comparisons=comparisons, notes=notes)

    result = run_series(
        "matrix",
        builds,
        scenarios,
        report,
        conclude,
        runs=arguments.runs,
        repeat=arguments.repeat,
        rng=None if seed is None else Random(seed),
    )
    return report.show(result)


def parted(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Builds and scenarios. A word with a name and an equals sign in front is a build, unless there is such a file."""
    builds: dict[str, str] = {}
    scenarios: list[str] = []
    for word in words:
        match = None if Path(word).exists() else _BUILD.fullmatch(word)
        if match is None:
            scenarios.append(word)
        elif match["name"] in builds:
            raise UsageError(f"two builds are called {match['name']!r}")
        else:
            builds[match["name"]] = match["command"]
    if len(builds) < 2:
        raise UsageError(f"there is nothing to compare: expected two builds or more as NAME=CMD, got {len(builds)}")
    return list(builds.items()), scenarios
