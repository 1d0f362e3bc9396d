"""`metrics`: samples of the build's own /metrics after the last reply, by name with labels as they are written."""

from __future__ import annotations

import re
from typing import Any

from harness.checks.expectation import Expectation, Expected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Record
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


OBSERVABLES = (
    Observable("metrics", "samples of the build's /metrics", MapOf(Expected(paths), least=1), _observe, _wrong),
)
