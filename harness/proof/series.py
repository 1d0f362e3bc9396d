"""Runs jobs on builds one after the other, and keeps what they found whatever ends the series.

After each job the result so far is on disk and the builds' fingerprints are looked at again. It does not know
what a comparison means: a `Conclude` turns the results so far into the verdict.
"""

from __future__ import annotations

import errno
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from harness.proof.provenance import Fingerprint
from harness.proof.run_folder import write_result
from harness.proof.schedule import Job
from harness.result import BuildInfo, RunResult, ScenarioResult, Verdict

S = TypeVar("S")
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class RunJob(Protocol[S]):
    """Runs one job with its evidence in `folder`. Blocking; KeyboardInterrupt passes through, all ended."""

    def __call__(self, job: Job[S], folder: Path, /) -> ScenarioResult: ...


class Listener(Protocol):
    """Told as jobs start and end, to show a person how far it is."""

    def started(self, suite: str, scenario: str, build: str, /) -> None: ...

    def ended(self, result: ScenarioResult, /) -> None: ...


Conclude = Callable[[RunResult, bool], RunResult]
"""Fills in verdict, comparisons and notes of the results so far; the second argument says whether it is tainted."""


class Watch(Protocol):
    """Takes fingerprints of a build, as `Provenance` does."""

    def take(self, *, with_version: bool = False) -> Fingerprint: ...

    def moved_since(self, before: Fingerprint) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Contender:
    """A build in the series: its command, and what takes its fingerprint."""

    name: str
    command: tuple[str, ...]
    provenance: Watch
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Series(Generic[S]):
    kind: str
    contenders: Sequence[Contender]
    jobs: Sequence[Job[S]]
    folder: Path
    run_job: RunJob[S]
    conclude: Conclude
    listener: Listener
    names: Callable[[S], tuple[str, str]]
    enough: Callable[[ScenarioResult], bool] = lambda _: False

    def run(self) -> RunResult:
        """The whole result; `partial` when an interrupt or a disk that takes no more cut it short."""
        started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
        with ThreadPoolExecutor() as pool:
            taken = pool.map(lambda each: each.provenance.take(with_version=True), self.contenders)
            before = {each.name: fingerprint for each, fingerprint in zip(self.contenders, taken, strict=True)}
        state = _State(self, started, began, before)
        state.keep(partial=True)
        with terminating_as_interrupt():
            try:
                for job in self.jobs:
                    state.add(self._run(job))
                    state.look_at(self.contenders)
                    state.keep(partial=True)
                    if self.enough(state.results[-1]):
                        state.has_enough = True
                        break
            except KeyboardInterrupt:
                state.cut_short("interrupted")
            except OSError as error:
                state.cut_short(_broken_off(error))
        state.look_at(self.contenders)
        return state.finish()

    def _run(self, job: Job[S]) -> ScenarioResult:
        suite, scenario = self.names(job.scenario)
        self.listener.started(suite, scenario, job.build)
        turn = "" if job.repeat == 0 else f".{job.repeat + 1}"
        result = self.run_job(job, self.folder / f"{job.build}{turn}" / suite / scenario)
        checks = tuple(replace(check, build=job.build, repeat=job.repeat) for check in result.checks)
        result = replace(result, build=job.build, repeat=job.repeat, checks=checks)
        self.listener.ended(result)
        return result


class _State(Generic[S]):
    """What a series has found so far."""

    def __init__(self, series: Series[S], started: str, began: float, before: Mapping[str, Fingerprint]) -> None:
        self._series, self._started, self._began, self._before = series, started, began, before
        self._moved: dict[str, tuple[str, ...]] = {}
        self._cut: str | None = None
        self.has_enough = False
        self.results: list[ScenarioResult] = []

    def add(self, result: ScenarioResult) -> None:
        self.results.append(result)

    def cut_short(self, why: str) -> None:
        self._cut = why

    def look_at(self, contenders: Iterable[Contender]) -> None:
        """A build that moved once is tainted for good, even if it is moved back."""
        for each in contenders:
            if each.name not in self._moved and (moved := each.provenance.moved_since(self._before[each.name])):
                self._moved[each.name] = moved

    def keep(self, *, partial: bool) -> None:
        write_result(self._series.folder, self._result(partial=partial))

    def finish(self) -> RunResult:
        result = self._result(partial=self._cut is not None)
        try:
            write_result(self._series.folder, result)
        except OSError as error:
            note = f"the result could not be kept in {self._series.folder}: {error.strerror}"
            result = replace(result, notes=(*result.notes, note))
        return result

    def _result(self, *, partial: bool) -> RunResult:
        bare = RunResult(
            kind=self._series.kind,
            verdict=Verdict.ERROR,
            builds=tuple(
                BuildInfo(each.name, each.command, self._before[each.name].to_json() | dict(each.origin))
                for each in self._series.contenders
            ),
            scenarios=tuple(self.results),
            notes=tuple(self._notes()),
            started_at=self._started,
            duration_s=round(time.monotonic() - self._began, 3),
            folder=str(self._series.folder),
            partial=partial,
            warnings=tuple(f"{name}: {warning}" for name, taken in self._before.items() for warning in taken.warnings),
        )
        concluded = self._series.conclude(bare, bool(self._moved))
        # A series that was cut short has seen too little to prove or convict anything.
        return replace(concluded, verdict=Verdict.ERROR) if partial and not self._moved else concluded

    def _notes(self) -> Iterator[str]:
        ran, planned = len(self.results), len(self._series.jobs)
        if self.has_enough and ran < planned:
            yield f"stopped at the first that is not ok: {planned - ran} of {planned} scenario runs were left out"
        if self._cut is not None:
            yield f"{self._cut} after {ran} of {planned} scenario runs"
        for name, moved in self._moved.items():
            yield from (f"{name} moved during the run: {line}" for line in moved)


def _broken_off(error: OSError) -> str:
    """A connection's error names no file: only one that does can be the folder's."""
    if error.filename is None and error.errno not in _DISK_FULL:
        return f"the run broke off: {error}"
    return f"the run folder takes no more: {error.strerror} ({error.filename})"


@contextmanager
def terminating_as_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP end a series like Ctrl-C does: everything started is ended, the result is kept."""
    former = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
