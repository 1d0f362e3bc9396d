"""`stream`: how a streamed reply came: its frames, comments, whether it said `[DONE]`."""

from __future__ import annotations

from typing import Any

from harness.checks.expectation import Expected, FieldsAre, FieldsExpected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.checks.reply import replies
from harness.record import Record

_FIELDS = ("frames", "comments", "done", "failure", "tokens_timed")


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    if not record.exchanges:
        return Unseen("no request was sent")
    streamed = [each for each in replies(record, look) if each.reply.streamed]
    facts = (
        {
            "frames": each.reply.frames,
            "comments": each.reply.comments,
            "done": each.reply.done,
            "failure": each.reply.failure,
            "tokens_timed": len(each.reply.timings.token_ns),
        }
        for each in streamed
    )
    return Seen("stream", tuple(Sighting(fact, each.where) for each, fact in zip(streamed, facts, strict=True)))


def _wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
    return expected.wrong(value, lookup)


OBSERVABLES = (
    Observable(
        "stream", "how a streamed reply came", FieldsExpected(_FIELDS, Expected(paths)), _observe, _wrong, _FIELDS
    ),
)
