"""`metrics` and `step.metrics`: samples of the build's own /metrics, by name with labels as they are written.

`metrics` reads them after the last reply; `step.metrics` says by how much they grew over a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from harness.checks.expectation import Expectation, Expected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Record, StepRecord
from harness.shapes import MapOf

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*(?:\{.*\})?)\s+(\S+)(?:\s+\d+)?$")


def samples(text: str) -> dict[str, float]:
    """Name with labels to value. Lines that are no sample are left out."""
    found = (_SAMPLE.match(line) for line in text.splitlines() if not line.startswith("#"))
    return {match[1]: float(match[2]) for match in found if match is not None}


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    if record.metrics is None:
        return Unseen("the build's /metrics could not be read")
    found = samples(record.metrics)
    return Seen("metrics", tuple(Sighting((name, found.get(name)), "/metrics") for name in look.expected))


def _wrong(expected: dict[str, Expectation], value: Any, lookup: Lookup) -> str | None:
    name, number = value
    if number is None:
        return f"{name}: expected it to be there"
    finding = expected[name].wrong(number, lookup)
    return None if finding is None else f"{name}: {finding}"


def _observe_growth(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    wanted = [each for each in record.steps if look.request in (None, each.name)]
    if not wanted:
        return Unseen(f"step {look.request or ''} was never done".replace("  ", " "))
    seen = []
    for step in wanted:
        grown = _growth(step, look.expected)
        if isinstance(grown, Unseen):
            return grown
        seen += grown
    return Seen("growth of the metrics", tuple(seen))


def _growth(step: StepRecord, names: Iterable[str]) -> list[Sighting] | Unseen:
    """A build that does not count cannot be seen not to have counted."""
    if step.metrics is None or step.metrics.unread:
        why = "" if step.metrics is None else f": {step.metrics.unread}"
        return Unseen(f"the /metrics before and after step {step.name} could not be read{why}")
    before, after = samples(step.metrics.before), samples(step.metrics.after)
    missing = next((name for name in names if name not in before or name not in after), None)
    if missing is not None:
        return Unseen(f"the /metrics before and after step {step.name} do not have {missing}")
    where = f"steps.jsonl: {step.name}"
    return [Sighting((name, after[name] - before[name]), where, step.end_ns) for name in names]


OBSERVABLES = (
    Observable("metrics", "samples of the build's /metrics", MapOf(Expected(paths), least=1), _observe, _wrong),
    Observable(
        key="step.metrics",
        means="by how much samples of the server's /metrics grew over a step",
        shape=MapOf(Expected(paths), least=1),
        observe=_observe_growth,
        wrong=_wrong,
    ),
)
