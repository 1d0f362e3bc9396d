"""`slots`: what the decoder says of its slots (GET /slots) after the last reply. A claim, not a proof of use."""

from __future__ import annotations

from typing import Any

from harness.checks.expectation import Expected, FieldsAre, FieldsExpected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Record

_FIELDS = ("id", "n_ctx", "is_processing", "n_prompt_tokens")


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    if not isinstance(record.slots, list):
        return Unseen("the decoder's /slots could not be read")
    return Seen("slots", tuple(Sighting(slot, f"/slots[{index}]") for index, slot in enumerate(record.slots)))


def _wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
    return expected.wrong(value, lookup)


OBSERVABLES = (
    Observable(
        "slots",
        "a slot, as GET /slots of the decoder shows it",
        FieldsExpected(_FIELDS, Expected(paths)),
        _observe,
        _wrong,
        _FIELDS,
    ),
)
