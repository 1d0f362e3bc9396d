"""`kvgate prove`: shows that every check can go red, by mutants that each put one fault back."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import harness
from harness import profiles
from harness.checks.shape import looks
from harness.errors import UsageError
from harness.profiles import Build
from harness.proof.contenders import build_of, provenance_of
from harness.proof.crossing import BASE, Crossing, overall
from harness.proof.mutant_jobs import MutantJobs, build_of_mutant, is_program, on_fakes
from harness.proof.mutant_tests import uncaught
from harness.proof.mutants import Mutant, Replaces, find_mutants
from harness.proof.outcome_cache import OutcomeCache, default_folder
from harness.proof.pool import run_jobs
from harness.proof.proof_queue import ProofQueue
from harness.proof.provenance import Fingerprint, Provenance, moved_together, take_together
from harness.proof.report import Report
from harness.proof.run_folder import new_run_folder, write_result
from harness.proof.series import Listener, terminating_as_interrupt
from harness.result import BuildInfo, RunResult, ScenarioResult, Verdict
from harness.scenario import Kind, Scenario
from harness.selection import paths, select

DESCRIPTION = """Runs the scenarios on a good build and on mutants of it, and says which checks are known to go red.

exit status: 0 every check is proven; 1 a check no mutant turns red, a mutant nobody sees, or a check that is red
on the good build; 2 usage; 3 something could not be observed, or a build changed."""

_GOOD = {Kind.ROUTER: "router", Kind.DECODER: "fakes.decoder_server", Kind.ENGINE: "fakes.engine_server"}
_GROUND = ("harness.runner", "fakes.decoder_server", "fakes.provider")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="files, folders or suites; all unless said")
    for kind, module in _GOOD.items():
        parser.add_argument(f"--{kind}", metavar="CMD", help=f"the good {kind} (python -m {module} unless said)")
    parser.add_argument("--profile", metavar="FILE", help="how the good build, and mutants of its kind, are started")
    parser.add_argument("--mutants", type=Path, metavar="DIR", help="where mutants lie (gates/mutants unless said)")
    parser.add_argument("--mutant", action="append", default=[], metavar="NAME", help="this mutant alone; repeatable")
    parser.add_argument(
        "--full", action="store_true", help="every mutant on every scenario, not only until every check was red once"
    )
    parser.add_argument(
        "-n", "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="workers (%(default)s)"
    )
    parser.add_argument("--no-cache", action="store_true", help="run also what is known from an earlier time")
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the run's folder is made")


def run(arguments: argparse.Namespace, report: Report) -> tuple[RunResult, int]:
    """What was found, shown already, and the exit status."""
    if arguments.jobs < 1:
        raise UsageError("--jobs: expected at least 1")
    mutants = find_mutants(arguments.mutants or _default_mutants(), arguments.mutant)
    scenarios = [on_fakes(scenario) for scenario in select(arguments.scenarios)]
    suites = {scenario.suite for scenario in scenarios}
    mutants = tuple(each for each in mutants if _is_wanted(each, arguments, suites))
    proof = Proof(
        mutants=mutants,
        scenarios=scenarios,
        good={kind: _good_build(kind, arguments) for kind in _GOOD},
        folder=new_run_folder(arguments.runs, "prove"),
        full=arguments.full,
        keep=not arguments.no_cache,
        whole_suites=all(path.is_dir() for path in paths(arguments.scenarios)),
    )
    result = proof.run(arguments.jobs, report)
    return result, report.show(result)


def _good_build(kind: Kind, arguments: argparse.Namespace) -> Build:
    command = getattr(arguments, str(kind)) or f"{sys.executable} -m {_GOOD[kind]}"
    own = arguments.profile is not None and profiles.named(arguments.profile).kind is kind
    return build_of(BASE, command, kind=kind, profile=arguments.profile if own else None, said_by=f"--{kind}")


def _is_wanted(mutant: Mutant, arguments: argparse.Namespace, suites: Collection[str]) -> bool:
    """A mutant of the harness belongs to no suite: it is tried where all suites are, or where it is named."""
    if mutant.replaces is Replaces.HARNESS:
        return not arguments.scenarios or mutant.name in arguments.mutant
    return bool(arguments.full) or mutant.is_meant_for_any(suites)


def _default_mutants() -> Path:
    here = Path("gates") / "mutants"
    return here if here.is_dir() else Path(harness.__file__).parent.parent / "gates" / "mutants"


@dataclass(slots=True)
class Proof:
    """One proof: what is run, and what was found so far."""

    mutants: Sequence[Mutant]
    scenarios: Sequence[Scenario]
    good: Mapping[Kind, Build]
    folder: Path
    full: bool
    keep: bool
    whole_suites: bool = True
    results: list[ScenarioResult] = field(default_factory=list)
    crossing: Crossing = field(init=False)
    _known: int = 0

    def __post_init__(self) -> None:
        self.crossing = Crossing([mutant for mutant in self.mutants if mutant.replaces is not Replaces.HARNESS])

    def run(self, workers: int, report: Report) -> RunResult:
        started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
        watches = self._watches()
        before = take_together(watches)
        jobs = MutantJobs(self.mutants, self.scenarios, self.good, self.folder, self.full)
        listener = report.listener(len(self.scenarios) + sum(1 for _ in jobs.pairs()))
        unseen: tuple[str, ...] = ()
        cut = None
        with terminating_as_interrupt():
            try:
                self._run(jobs, workers, listener, before)
                unseen = self._uncaught_by_tests(workers)
            except KeyboardInterrupt:
                cut = "interrupted: what was not run proves nothing"
        moved = moved_together(watches, before)
        result = self._concluded(before, moved, unseen, cut)
        result = replace(result, started_at=started, duration_s=round(time.monotonic() - began, 3))
        write_result(self.folder, result)
        return result

    def _watches(self) -> dict[str, Provenance]:
        used = {scenario.under_test for scenario in self.scenarios}
        watches = {f"{BASE} {kind}": provenance_of(build) for kind, build in self.good.items() if kind in used}
        programs = [mutant for mutant in self.mutants if is_program(mutant)]
        return watches | {mutant.name: provenance_of(build_of_mutant(mutant, self.good)) for mutant in programs}

    def _run(self, jobs: MutantJobs, workers: int, listener: Listener, before: Mapping[str, Fingerprint]) -> None:
        def on_result(result: ScenarioResult) -> None:
            self.results.append(result)
            listener.ended(result)

        digests = {name: taken.digest for name, taken in before.items()}
        cache = OutcomeCache(default_folder(), _ground())
        queue = ProofQueue(jobs, self.crossing, cache, digests, on_result, self.keep)
        for job, result in run_jobs(
            workers, queue.next, lambda job: listener.started(job.scenario.suite, job.scenario.name, job.build.name)
        ):
            queue.took(job, result)
        self._known = queue.known

    def _uncaught_by_tests(self, workers: int) -> tuple[str, ...]:
        """Mutants of the harness that its own tests do not see."""
        mutants = [mutant for mutant in self.mutants if mutant.replaces is Replaces.HARNESS]
        return uncaught(mutants, self.folder, workers)

    def _concluded(
        self, before: Mapping[str, Fingerprint], moved: Sequence[str], uncaught: Sequence[str], cut: str | None
    ) -> RunResult:
        comparisons = self.crossing.comparisons()
        # A mutant may be red in a scenario that was left out: only of whole suites can be said that nobody sees it.
        survivors = (*(self.crossing.survivors() if self.whole_suites else ()), *uncaught)
        loud = self.crossing.suites_without_a_quiet_mutant(self._log_checks()) if self.full else ()
        verdict = overall(comparisons, tainted=bool(moved), lacking=bool(survivors or loud))
        return RunResult(
            kind="prove",
            verdict=Verdict.ERROR if cut is not None and verdict is not Verdict.TAINTED else verdict,
            builds=tuple(self._builds(before)),
            scenarios=tuple(self.results),
            notes=tuple(self._notes(moved, survivors, loud, cut)),
            folder=str(self.folder),
            partial=cut is not None,
            comparisons=comparisons,
            warnings=tuple(dict.fromkeys(warning for taken in before.values() for warning in taken.warnings)),
        )

    def _builds(self, before: Mapping[str, Fingerprint]) -> Iterator[BuildInfo]:
        for kind, build in self.good.items():
            if (taken := before.get(f"{BASE} {kind}")) is not None:
                yield BuildInfo(f"{BASE} {kind}", build.command, taken.to_json())
        for mutant in self.mutants:
            taken = before.get(mutant.name)
            told = {"says": mutant.says, "suites": list(mutant.suites), "replaces": str(mutant.replaces)}
            command = build_of_mutant(mutant, self.good).command if taken is not None else ()
            yield BuildInfo(mutant.name, command, (taken.to_json() if taken is not None else {}) | told)

    def _notes(
        self, moved: Sequence[str], survivors: Sequence[str], loud: Sequence[str], cut: str | None
    ) -> Iterator[str]:
        if cut is not None:
            yield cut
        yield from (f"moved during the run: {line}" for line in moved)
        yield from (f"{name} survived: nothing it is meant for turns red" for name in survivors)
        for suite in loud:
            yield f"{suite}: no mutant is red on a check that reads no log while every check of the log is green"
        if self.full:
            for suite, checks in self.crossing.alike():
                yield f"{suite}: no mutant tells these apart: {'; '.join(checks)}"
        if self._known:
            yield f"{self._known} of {len(self.results)} outcomes were known from an earlier time"

    def _log_checks(self) -> set[tuple[str, str, str]]:
        return {
            (scenario.suite, scenario.name, named.name)
            for scenario in self.scenarios
            for named in scenario.checks
            if any(look.key.startswith("log") for look in looks(named.check))
        }


def _ground() -> str:
    """What all outcomes rest on: the harness that judges and the fakes that play."""
    watches = {module: Provenance((sys.executable, "-m", module), cwd=Path.cwd()) for module in _GROUND}
    return " ".join(taken.digest for taken in take_together(watches).values())
