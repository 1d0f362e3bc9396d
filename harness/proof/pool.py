"""Scenario runs in several worker processes, each with a session of its own.

Jobs are asked for one by one, so that what is still worth running can depend on what was found. An interrupt
reaches the workers too: they end what they started, and no further job is handed out.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.util
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from harness.plan import Options
from harness.profiles import Build
from harness.result import ScenarioResult
from harness.runner import run_scenario
from harness.scenario import Scenario
from harness.session import Session


@dataclass(frozen=True, slots=True)
class ScenarioJob:
    """One scenario on one build, everything a worker has to know."""

    scenario: Scenario
    build: Build
    folder: Path
    options: Options


def run_jobs(
    workers: int, next_job: Callable[[], ScenarioJob | None], on_start: Callable[[ScenarioJob], None]
) -> Iterator[tuple[ScenarioJob, ScenarioResult]]:
    """Results as they come. `next_job` is asked whenever a worker is free; None means that there is nothing now."""
    context = multiprocessing.get_context("spawn")
    running: dict[Future[ScenarioResult], ScenarioJob] = {}
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_open_session) as pool:
        try:
            while True:
                while len(running) < workers and (job := next_job()) is not None:
                    on_start(job)
                    running[pool.submit(_run, job)] = job
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_session: Session | None = None


def _open_session() -> None:
    """The worker's own session; it is closed when the worker ends, however the pool ends it."""
    global _session
    _session = Session()
    multiprocessing.util.Finalize(None, _session.close, exitpriority=10)


def _run(job: ScenarioJob) -> ScenarioResult:
    return run_scenario(job.scenario, job.build, folder=job.folder, options=job.options, session=_session)
