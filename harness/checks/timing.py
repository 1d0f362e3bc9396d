"""`reply.ttft_ms`, `reply.itl_ms`, `reply.total_ms`: times at the client; `itl_ms` is the longest gap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.checks.expectation import Expected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.checks.reply import replies
from harness.record import Record, Timings


def _wrong(expected: Any, value: Any, lookup: Lookup) -> str | None:
    found: str | None = expected.wrong(value, lookup)
    return found


def _timing(name: str, means: str, read: Callable[[Timings], float | None]) -> Observable:
    def observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
        if not record.exchanges:
            return Unseen("no request was sent")
        values = ((each, read(each.reply.timings)) for each in replies(record, look))
        return Seen(name, tuple(Sighting(value, each.where) for each, value in values if value is not None))

    return Observable(name, means, Expected(paths), observe, _wrong)


OBSERVABLES = (
    _timing("reply.ttft_ms", "request sent to first token received", lambda timings: timings.ttft_ms),
    _timing("reply.itl_ms", "the longest gap between two tokens", lambda timings: max(timings.itl_ms, default=None)),
    _timing("reply.total_ms", "request sent to reply ended", lambda timings: timings.total_ms),
)
