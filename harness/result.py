"""The result model: what a run found, as values. Reports render it; nothing here knows how a run is made.

`Status` is what one check said, `Verdict` what a whole run or comparison says. The JSON form written by
`RunResult.to_json` is the published one (`schema` 1): keys are added, never renamed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SCHEMA = 1


class Status(StrEnum):
    """What one check said. FAIL: seen, and wrong. ERROR: could not be observed."""

    OK = "ok"
    FAIL = "FAIL"
    ERROR = "ERROR"
    SKIP = "skip"


class Verdict(StrEnum):
    """What a run (`OK`, `FAILED`, `ERROR`) or a comparison of two builds says as a whole."""

    OK = "ok"
    FAILED = "failed"
    ERROR = "error"
    PROVEN = "proven"
    VACUOUS = "vacuous"
    FAILING = "failing"
    UNSTABLE = "unstable"
    REGRESSION = "regression"
    TAINTED = "tainted"

    @property
    def exit_status(self) -> int:
        return _EXIT_STATUS[self]


_EXIT_STATUS = {
    Verdict.OK: 0,
    Verdict.PROVEN: 0,
    Verdict.FAILED: 1,
    Verdict.REGRESSION: 1,
    Verdict.FAILING: 1,
    Verdict.ERROR: 3,
    Verdict.TAINTED: 3,
    Verdict.UNSTABLE: 3,
    Verdict.VACUOUS: 4,
}

_RANK = {Status.SKIP: 0, Status.OK: 1, Status.ERROR: 2, Status.FAIL: 3}


def worst(statuses: Iterable[Status]) -> Status:
    """FAIL over ERROR over ok; no statuses at all is ERROR, since nothing was observed."""
    return max(statuses, key=_RANK.__getitem__, default=Status.ERROR)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one scenario on one build. `suite`, `scenario`, `check` are its identity everywhere."""

    suite: str
    scenario: str
    check: str
    build: str
    status: Status
    detail: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something one process did. `t_ns` is on the machine's monotonic clock; `end_ns` makes it a span."""

    lane: str
    t_ns: int
    what: str
    end_ns: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """One scenario on one build: its checks, what was left behind, and where the evidence lies."""

    suite: str
    scenario: str
    build: str
    checks: tuple[CheckResult, ...]
    left_behind: tuple[str, ...] = ()
    duration_s: float = 0.0
    folder: str = ""
    rerun: str = ""
    timeline: tuple[TimelineEvent, ...] = ()

    @property
    def status(self) -> Status:
        found = worst(check.status for check in self.checks)
        return worst((found, Status.FAIL)) if self.left_behind else found


@dataclass(frozen=True, slots=True)
class BuildInfo:
    """A build under test: the command as given and the fingerprint taken of it."""

    name: str
    command: tuple[str, ...]
    fingerprint: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run: one build (`run`) or several (`ab`, `matrix`). `partial` when it was interrupted."""

    kind: str
    verdict: Verdict
    builds: tuple[BuildInfo, ...]
    scenarios: tuple[ScenarioResult, ...]
    notes: tuple[str, ...] = ()
    started_at: str = ""
    duration_s: float = 0.0
    folder: str = ""
    partial: bool = False

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        return tuple(check for scenario in self.scenarios for check in scenario.checks)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "verdict": str(self.verdict),
            "started_at": self.started_at,
            "duration_s": self.duration_s,
            "partial": self.partial,
            "folder": self.folder,
            "notes": list(self.notes),
            "builds": {b.name: {"command": list(b.command), **b.fingerprint} for b in self.builds},
            "checks": [dataclasses.asdict(check) for check in self.checks],
            "scenarios": [_scenario_json(s) for s in self.scenarios],
        }


def _scenario_json(scenario: ScenarioResult) -> dict[str, Any]:
    values = dataclasses.asdict(scenario)
    values["status"] = str(scenario.status)
    values["checks"] = len(scenario.checks)
    return values
