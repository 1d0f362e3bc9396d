"""`did`: what was done between the requests, and whether it came about. `missed` says why an `until` did not."""

from __future__ import annotations

from typing import Any

from harness.checks.expectation import Expected, FieldsAre, FieldsExpected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Record

_FIELDS = ("name", "act", "to", "missed")


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    if not record.done:
        return Unseen("nothing was done between the requests")
    values = ({"name": each.name, "act": each.act, "to": each.to, "missed": each.missed} for each in record.done)
    made = zip(values, record.done, strict=True)
    return Seen("what was done", tuple(Sighting(fact, each.name or each.act, each.t_ns) for fact, each in made))


def _wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
    return expected.wrong(value, lookup)


OBSERVABLES = (
    Observable(
        "did",
        "something that was done between the requests; an `until` is here when it was met or given up",
        FieldsExpected(_FIELDS, Expected(paths)),
        _observe,
        _wrong,
        _FIELDS,
        True,
    ),
)
