"""`kvgate ab`: the same scenarios on two builds, and what that says about the new one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

from harness.errors import UsageError
from harness.near import did_you_mean
from harness.profiles import Build
from harness.proof.contenders import build_from_words, build_of, words_of
from harness.proof.kinship import stitched, the_same
from harness.proof.paired_timing import paired_timing
from harness.proof.ref_build import build_ref
from harness.proof.report import Report
from harness.proof.scenario_runs import run_series
from harness.proof.verdict import NEW, OLD, compare, differs_from_expected, overall
from harness.result import RunResult
from harness.scenario import Kind, Scenario
from harness.selection import select

DESCRIPTION = """Runs the same scenarios on an old and a new build, in turn, and says what moved.

exit status: 0 proven (red on old, green on new, nothing else moved); 1 regression, failing or unexpected;
2 usage; 3 error, tainted or unstable; 4 vacuous (nothing is red on old)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="files or folders; all there are unless said")
    parser.add_argument("--profile", metavar="FILE", help="how both builds are started")
    for side in (OLD, NEW):
        parser.add_argument(f"--{side}", required=True, metavar="CMD", help=f"the command that starts the {side} build")
        parser.add_argument(
            f"--{side}-env", action="append", default=[], metavar="K=V", help=f"a variable for the {side} build alone"
        )
        parser.add_argument(
            f"--{side}-profile", metavar="FILE", help=f"how the {side} build is started, where that differs"
        )
    refs = parser.add_argument_group("builds of git refs", "--old and --new are then refs, each built in a clean clone")
    refs.add_argument("--repo", type=Path, metavar="DIR", help="the repository")
    refs.add_argument("--build", metavar="CMD", help="builds {src} into {build}; run by a shell in {src}")
    refs.add_argument("--run", metavar="CMD", help="starts what was built; {src} and {build} are filled in")
    parser.add_argument("--repeat", type=_positive, default=1, metavar="N", help="run everything N times")
    parser.add_argument("--seed", type=int, metavar="S", help="shuffle the order with this seed (0 where repeated)")
    parser.add_argument(
        "--expect-red", nargs="+", metavar="NAME", help="the checks that have to be red on old, these and no others"
    )
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the run's folder is made")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected at least 1")
    return number


def run(arguments: argparse.Namespace, report: Report) -> int:
    expect_red = arguments.expect_red
    refuse_scenarios_among_checks(expect_red or ())
    scenarios = [replace(each, known_red="") for each in select(arguments.scenarios)]
    kind = kind_of(scenarios)
    if expect_red is not None:
        refuse_unknown_checks(expect_red, scenarios)
    refuse_half_a_ref_build(arguments)
    made = [_build(arguments, side, kind) for side in (OLD, NEW)]
    seed = 0 if arguments.seed is None and arguments.repeat > 1 else arguments.seed

    order = () if seed is None else (f"{arguments.repeat} turns, order shuffled with seed {seed}",)

    def conclude(found: RunResult, tainted: bool) -> RunResult:
        judged = conclude_ab(found, tainted=tainted, expect_red=expect_red)
        return replace(judged, notes=(*order, *judged.notes))

    result = run_series(
        "ab",
        [build for build, _ in made],
        scenarios,
        report,
        conclude,
        runs=arguments.runs,
        repeat=arguments.repeat,
        rng=None if seed is None else Random(seed),
        origins={build.name: origin for build, origin in made},
    )
    return report.show(result)


def refuse_half_a_ref_build(arguments: argparse.Namespace) -> None:
    if arguments.repo is not None and arguments.run is None:
        raise UsageError("--repo needs --run: the command that starts what was built")
    for flag in ("build", "run"):
        if arguments.repo is None and getattr(arguments, flag) is not None:
            raise UsageError(f"--{flag} needs --repo: the repository whose refs --old and --new are")


def _build(arguments: argparse.Namespace, side: str, kind: Kind) -> tuple[Build, dict[str, Any]]:
    """The build of one side and where it comes from: a command as given, or a ref that is built first."""
    said, flag = getattr(arguments, side), f"--{side}"
    profile, env = getattr(arguments, f"{side}_profile") or arguments.profile, getattr(arguments, f"{side}_env")
    if arguments.repo is None:
        return build_of(side, said, kind=kind, profile=profile, env=env, said_by=flag), {}
    built = build_ref(arguments.repo, said, arguments.build or "true", announce=_announce)
    words = built.filled(words_of(arguments.run, "--run"))
    build = build_from_words(side, words, kind=kind, profile=profile, env=env, said_by=flag)
    return build, {"built_from": asdict(built)}


def _announce(what: str) -> None:
    print(f"kvgate ab: {what}", file=sys.stderr, flush=True)


def conclude_ab(found: RunResult, *, tainted: bool, expect_red: Sequence[str] | None) -> RunResult:
    """The results so far, judged."""
    comparisons = compare(found.scenarios)
    timing = paired_timing(found.scenarios)
    notes = () if expect_red is None else differs_from_expected(comparisons, expect_red)
    unseen = sum(bool(each.tallies[OLD].error) for each in comparisons)
    if unseen:
        notes = (*notes, f"{unseen} checks could not be observed on old: they prove nothing")
    return replace(
        found,
        verdict=overall(comparisons, tainted=tainted, expect_red=expect_red),
        comparisons=comparisons,
        timings=() if timing is None else (timing,),
        notes=(*found.notes, *the_same(found.builds), *notes),
        warnings=(*found.warnings, *stitched(found.builds)),
    )


def kind_of(scenarios: Sequence[Scenario]) -> Kind:
    """What all these scenarios put under test; UsageError when they differ."""
    kinds = {scenario.under_test: scenario for scenario in scenarios}
    if len(kinds) > 1:
        named = " and ".join(f"{kind.one} ({scenario.file})" for kind, scenario in kinds.items())
        raise UsageError(f"the scenarios put different things under test: {named}; choose those of one kind")
    return next(iter(kinds))


def refuse_scenarios_among_checks(names: Sequence[str]) -> None:
    """A list takes every word up to the next flag: scenarios behind it would silently be all there are."""
    for name in names:
        if name.endswith(".yaml") or Path(name).is_dir():
            raise UsageError(f"--expect-red: {name} is no check; name the scenarios in front of --expect-red")


def refuse_unknown_checks(names: Sequence[str], scenarios: Sequence[Scenario]) -> None:
    known = [named.name for scenario in scenarios for named in scenario.checks]
    for name in names:
        if name not in known:
            raise UsageError(f"--expect-red: no check is called {name!r}{did_you_mean(name, known)}")
