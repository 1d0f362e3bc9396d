"""`exit.build`, `exit.decoder`, `exit.prefill`: how a process ended once the run was over."""

from __future__ import annotations

from typing import Any

from harness.checks.expectation import Expected, FieldsAre, FieldsExpected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Record

_FIELDS = ("status", "asked", "killed")


def _wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
    return expected.wrong(value, lookup)


def _exit(who: str) -> Observable:
    def observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
        found = record.exits.get(who)
        if found is None:
            return Unseen(f"how the {who} ended is not known")
        value = {"status": found.status, "asked": found.asked, "killed": found.killed}
        return Seen(f"exit.{who}", (Sighting(value, who),))

    shape = FieldsExpected(_FIELDS, Expected(paths))
    return Observable(f"exit.{who}", f"how the {who} ended", shape, observe, _wrong, _FIELDS)


OBSERVABLES = tuple(_exit(who) for who in ("build", "decoder", "prefill"))
