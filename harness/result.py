"""The result model: what a run found, as values. Reports render it; nothing here knows how a run is made.

`Status` is what one check said, `Verdict` what a whole run or comparison says. The JSON form written by
`RunResult.to_json` is the published one (`schema` 1): keys are added, never renamed.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

SCHEMA = 1
_T = TypeVar("_T")
LEFT_BEHIND = "nothing is left behind"
"""The name of the finding that every scenario makes beside its own checks; it is not counted among them."""


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
    UNEXPECTED = "unexpected"
    UNPROVEN = "unproven"

    @property
    def exit_status(self) -> int:
        return _EXIT_STATUS[self]


_EXIT_STATUS = {
    Verdict.OK: 0,
    Verdict.PROVEN: 0,
    Verdict.FAILED: 1,
    Verdict.REGRESSION: 1,
    Verdict.FAILING: 1,
    Verdict.UNEXPECTED: 1,
    Verdict.UNPROVEN: 1,
    Verdict.ERROR: 3,
    Verdict.TAINTED: 3,
    Verdict.UNSTABLE: 3,
    Verdict.VACUOUS: 4,
}


class CheckVerdict(StrEnum):
    """What two builds say about one check. Only FAIL is red; ERROR and skip are no colour at all.

    PROVEN and UNPROVEN are what a cross with mutants says: whether any of them turned the check red.
    """

    FIXED = "fixed"
    BROKEN = "broken"
    GREEN_ON_BOTH = "green on both"
    RED_ON_BOTH = "red on both"
    UNSTABLE = "unstable"
    ERROR = "error"
    SKIPPED = "skipped"
    PROVEN = "proven"
    UNPROVEN = "unproven"


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
    repeat: int = 0


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
    repeat: int = 0
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        found = worst(check.status for check in self.checks)
        return worst((found, Status.FAIL)) if self.left_behind else found


@dataclass(frozen=True, slots=True)
class Tally:
    """How often one check said what on one build, over all repeats."""

    ok: int = 0
    fail: int = 0
    error: int = 0
    skip: int = 0

    @classmethod
    def of(cls, statuses: Iterable[Status]) -> Tally:
        count = Counter(statuses)
        return cls(count[Status.OK], count[Status.FAIL], count[Status.ERROR], count[Status.SKIP])

    @property
    def observed(self) -> int:
        """How often there was something to see: ok or FAIL."""
        return self.ok + self.fail

    @property
    def word(self) -> str:
        """One cell of a table: `ok`, `FAIL`, `ERROR`, `skip`, or `2 of 5 FAIL` where the repeats disagree."""
        kinds = {"ok": self.ok, "FAIL": self.fail, "ERROR": self.error, "skip": self.skip}
        seen = [name for name, count in kinds.items() if count]
        if not seen:
            return "not run"
        if len(seen) == 1:
            return seen[0]
        total = sum(kinds.values())
        return ", ".join(f"{kinds[name]} of {total} {name}" for name in ("FAIL", "ERROR", "skip") if kinds[name])


@dataclass(frozen=True, slots=True)
class Comparison:
    """One check across the builds of a comparison. `implicit` marks what every scenario checks beside its own."""

    suite: str
    scenario: str
    check: str
    verdict: CheckVerdict
    tallies: Mapping[str, Tally]
    implicit: bool = False


@dataclass(frozen=True, slots=True)
class PairedTiming:
    """How the times of two builds compare: the geometric mean of new/old over pairs and its 95% interval."""

    what: str
    pairs: int
    ratio: float
    low: float | None = None
    high: float | None = None


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
    comparisons: tuple[Comparison, ...] = ()
    timings: tuple[PairedTiming, ...] = ()
    warnings: tuple[str, ...] = ()

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
            "warnings": list(self.warnings),
            "builds": {b.name: {"command": list(b.command), **b.fingerprint} for b in self.builds},
            "checks": [dataclasses.asdict(check) for check in self.checks],
            "comparisons": [dataclasses.asdict(comparison) for comparison in self.comparisons],
            "timings": [dataclasses.asdict(timing) for timing in self.timings],
            "scenarios": [_scenario_json(s) for s in self.scenarios],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunResult:
        """The result that `to_json` wrote. Keys it does not know are left alone, as a newer kvgate may add some."""
        return _run_from_json(values)


def _scenario_json(scenario: ScenarioResult) -> dict[str, Any]:
    values = dataclasses.asdict(scenario)
    values["status"] = str(scenario.status)
    values["checks"] = len(scenario.checks)
    return values


def _run_from_json(values: Mapping[str, Any]) -> RunResult:
    if values["schema"] != SCHEMA:
        raise ValueError(f"the result has schema {values['schema']}, this kvgate reads {SCHEMA}")
    checks = [_known(CheckResult, check, status=Status(check["status"])) for check in values["checks"]]
    return RunResult(
        kind=values["kind"],
        verdict=Verdict(values["verdict"]),
        builds=tuple(_build_from_json(name, build) for name, build in values["builds"].items()),
        scenarios=tuple(_scenario_from_json(scenario, checks) for scenario in values["scenarios"]),
        notes=tuple(values["notes"]),
        started_at=values["started_at"],
        duration_s=values["duration_s"],
        folder=values["folder"],
        partial=values["partial"],
        comparisons=tuple(_comparison_from_json(comparison) for comparison in values.get("comparisons", ())),
        timings=tuple(_known(PairedTiming, timing) for timing in values.get("timings", ())),
        warnings=tuple(values.get("warnings", ())),
    )


def _build_from_json(name: str, values: Mapping[str, Any]) -> BuildInfo:
    fingerprint = {key: value for key, value in values.items() if key != "command"}
    return BuildInfo(name, tuple(values["command"]), fingerprint)


def _scenario_from_json(values: Mapping[str, Any], checks: Iterable[CheckResult]) -> ScenarioResult:
    own = (values["suite"], values["scenario"], values["build"], values.get("repeat", 0))
    return _known(
        ScenarioResult,
        values,
        checks=tuple(c for c in checks if (c.suite, c.scenario, c.build, c.repeat) == own),
        left_behind=tuple(values["left_behind"]),
        notes=tuple(values.get("notes", ())),
        timeline=tuple(_known(TimelineEvent, event) for event in values["timeline"]),
    )


def _comparison_from_json(values: Mapping[str, Any]) -> Comparison:
    tallies = {name: _known(Tally, tally) for name, tally in values["tallies"].items()}
    return _known(Comparison, values, verdict=CheckVerdict(values["verdict"]), tallies=tallies)


def _known(kind: type[_T], values: Mapping[str, Any], **replaced: Any) -> _T:
    names = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: value for key, value in values.items() if key in names} | replaced)
