"""`step` and `step.parity`: what came of a step, and whether two steps of a run gave the same reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.checks.expectation import Expected, FieldsAre, FieldsExpected, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.checks.parity import compare, parity_wrong
from harness.record import Record, StepRecord
from harness.shapes import Fields, Key, Text, Whole

FIELDS = (
    "status", "failure", "cache_n", "prompt_n", "predicted_n", "n_prompt", "n_saved", "n_restored", "n_erased",
    "id_slot", "tokens", "text", "stop_type", "truncated", "error_code", "error_type", "error", "body", "rpc",
    "reason", "n_past", "n_past_ms", "stored_ms", "cached_tokens", "restored", "is_processing", "is_transferring",
    "payload_bytes",
)  # fmt: skip

_TIMINGS = ("cache_n", "prompt_n", "predicted_n")
_COUNTS = ("n_saved", "n_restored", "n_erased", "id_slot", "stop_type", "truncated")
_ENGINE = (
    "rpc", "reason", "n_past", "n_past_ms", "stored_ms", "cached_tokens", "restored", "is_processing",
    "is_transferring", "payload_bytes",
)  # fmt: skip


def facts(step: StepRecord) -> dict[str, Any]:
    """What there is to say about one step, by the names that scenarios use; absent is null."""
    body = step.body if isinstance(step.body, Mapping) else {}
    timings, error = body.get("timings") or {}, body.get("error") or {}
    error = {"message": error} if isinstance(error, str) else error
    return {
        "status": step.status,
        "failure": step.failure,
        "n_prompt": len(step.prompt),
        "tokens": list(step.ids),
        "text": body.get("content"),
        "error_code": error.get("code"),
        "error_type": error.get("type"),
        "error": error.get("message"),
        "body": step.body,
        **{name: timings.get(name) for name in _TIMINGS},
        **{name: body.get(name) for name in (*_COUNTS, *_ENGINE)},
    }


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    wanted = [each for each in record.steps if look.request in (None, each.name)]
    if not wanted:
        return Unseen(f"step {look.request or ''} was never done".replace("  ", " "))
    return Seen("step", tuple(Sighting(facts(each), f"steps.jsonl: {each.name}", each.end_ns) for each in wanted))


def _wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
    finding = expected.wrong(value, lookup)
    told = value["failure"] or value["error"]
    return f"{finding} ({told})" if finding is not None and told else finding


@dataclass(frozen=True, slots=True)
class StepParity:
    """Two steps' greedy replies. `after` leaves out so many of the other's first ids."""

    of: str
    other: str
    same: bool
    after: int = 0


def _parity(of: str, same_as: str | None = None, differs_from: str | None = None, after: int = 0) -> StepParity:
    if (same_as is None) == (differs_from is None):
        raise ValueError("expected one of same_as, differs_from")
    return StepParity(of, str(same_as or differs_from), same_as is not None, after)


_PARITY = Fields(
    _parity,
    {
        "of": Key(Text(), "the step whose reply is compared", required=True),
        "same_as": Key(Text(), "the step whose reply it equals, token by token"),
        "differs_from": Key(Text(), "the step whose reply it does not equal"),
        "after": Key(Whole(1), "so many of the other's first tokens are left out"),
    },
)


def _observe_parity(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    wanted: StepParity = look.expected
    steps = {each.name: each for each in record.steps}
    for name in (wanted.of, wanted.other):
        if name not in steps:
            return Unseen(f"step {name} was never done")
        if steps[name].status != 200 or steps[name].failure or not steps[name].ids:
            return Unseen(f"step {name} has no whole reply with token ids")
    step, other = steps[wanted.of], steps[wanted.other]
    compared = compare(step.ids, other.ids[wanted.after :], other.margins[wanted.after :])
    return Seen(f"parity of {wanted.of} with {wanted.other}", (Sighting(compared, f"steps.jsonl: {wanted.of}"),))


def _wrong_parity(expected: StepParity, value: Any, lookup: Lookup) -> str | None:
    return parity_wrong("same" if expected.same else "differs", value, lookup)


OBSERVABLES = (
    Observable("step", "what came of a step", FieldsExpected(FIELDS, Expected(paths)), _observe, _wrong, FIELDS, True),
    Observable("step.parity", "two steps' greedy replies, token by token", _PARITY, _observe_parity, _wrong_parity),
)
