"""Hands out the runs of a proof one by one: first the good build, then each mutant while it can still tell something.

An outcome that is known from an earlier time is taken over instead of being run again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from harness.proof.crossing import BASE, Crossing
from harness.proof.mutant_jobs import MutantJobs
from harness.proof.mutants import Mutant
from harness.proof.outcome_cache import OutcomeCache
from harness.proof.pool import ScenarioJob
from harness.result import ScenarioResult
from harness.scenario import Scenario


@dataclass(slots=True)
class ProofQueue:
    """`digests` are the builds', by `base KIND` and by a mutant's name; `on_result` is told of every outcome."""

    jobs: MutantJobs
    crossing: Crossing
    cache: OutcomeCache
    digests: Mapping[str, str]
    on_result: Callable[[ScenarioResult], None]
    use_known: bool = True
    known: int = 0
    _base: deque[Scenario] = field(init=False)
    _pairs: deque[tuple[Mutant, Scenario]] = field(init=False)
    _base_open: int = field(init=False)

    def __post_init__(self) -> None:
        self._base = deque(self.jobs.scenarios)
        self._pairs = deque(self.jobs.pairs())
        self._base_open = len(self._base)

    def next(self) -> ScenarioJob | None:
        """The next run worth making. None while there is none: for good, or until the good build has answered."""
        while self._base:
            if (job := self._unless_known(None, self._base.popleft())) is not None:
                return job
        while self._pairs and self._base_open == 0:
            mutant, scenario = self._pairs.popleft()
            if self.crossing.is_wanted(mutant, (scenario.suite, scenario.name), full=self.jobs.full):
                job = self._unless_known(mutant, scenario)
                if job is not None:
                    return job
        return None

    def took(self, job: ScenarioJob, result: ScenarioResult) -> None:
        self.cache.keep(self._key(job), result)
        self._add(result)

    def _unless_known(self, mutant: Mutant | None, scenario: Scenario) -> ScenarioJob | None:
        job = self.jobs.job(mutant, scenario)
        found = self.cache.find(self._key(job), build=job.build.name) if self.use_known else None
        if found is None:
            return job
        self.known += 1
        self._add(found)
        return None

    def _add(self, result: ScenarioResult) -> None:
        self._base_open -= result.build == BASE
        self.crossing.add(result)
        # Hundreds of timelines make no report; each run's own folder has its record.
        self.on_result(replace(result, timeline=()))

    def _key(self, job: ScenarioJob) -> str:
        """By content of the good build, of the mutant where that is a program, and of what it changes."""
        name, scenario = job.build.name, job.scenario
        builds = f"{self.digests[f'{BASE} {scenario.under_test}']} {self.digests.get(name)}"
        played = f"{name} {scenario.decoder.faults} {scenario.provider} {job.options}"
        return self.cache.key(builds, scenario.file, played)
