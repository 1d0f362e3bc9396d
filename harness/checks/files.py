"""`files.written`: files made in a watched folder from ready to the last reply, still there or not."""

from __future__ import annotations

from typing import Any

from harness.checks.expectation import Expected, FieldsAre, FieldsExpected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Record

_FIELDS = ("folder", "name", "what")


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    if record.files is None:
        return Unseen("the folders were not watched to the end")
    values = (({"folder": e.folder, "name": e.name, "what": e.what}, e) for e in record.files)
    return Seen("files written", tuple(Sighting(fact, f"{e.folder}/{e.name}", e.t_ns) for fact, e in values))


def _wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
    return expected.wrong(value, lookup)


OBSERVABLES = (
    Observable(
        "files.written",
        "a file that was made or written in a watched folder (slot-save, tmp)",
        FieldsExpected(_FIELDS, Expected(paths)),
        _observe,
        _wrong,
        _FIELDS,
        True,
    ),
)
