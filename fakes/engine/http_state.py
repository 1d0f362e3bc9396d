"""The HTTP twins of the state operations. Their refusals are plain text, by the statuses that engines use."""

from __future__ import annotations

from fakes.effects import Flow, Reply
from fakes.engine.engine import Engine
from fakes.engine.outcome import Answered, Outcome
from fakes.engine.slot import EngineSlot
from fakes.engine.state_ops import begin_state_put, state_get, state_meta
from fakes.http1 import Request
from fakes.replies import to_json
from wire.hydra import Status

_STATUSES = {Status.NOT_FOUND: 404, Status.BUSY: 503, Status.ERROR: 503, Status.BAD_REQUEST: 400}


def _slot(engine: Engine, text: str) -> EngineSlot | None:
    return engine.maybe_slot(int(text) if text.isdigit() and len(text) < 10 else None)


def _refusal(outcome: Outcome) -> Reply:
    text = str(outcome.meta.get("error") or outcome.status.name)
    return Reply(_STATUSES[outcome.status], text.encode(), "text/plain; charset=utf-8")


def get_meta(engine: Engine, slot_id: str) -> Flow:
    yield from ()
    slot = _slot(engine, slot_id)
    if slot is None:
        return _refusal(Outcome(Status.NOT_FOUND))
    values = dict(state_meta(engine, slot).meta)
    operation = slot.working or ("save" if slot.transferring else "unknown" if slot.is_processing else "idle")
    n_done = len(slot.tokens)
    values |= {"operation": operation, "progress": 1.0, "tokens_processed": n_done, "tokens_total": n_done}
    return Reply(200, to_json(values | {"elapsed_ms": 0}))


def get_state(engine: Engine, slot_id: str) -> Flow:
    """The whole blob in one body: for state of ordinary size."""
    yield from ()
    slot = _slot(engine, slot_id)
    outcome = Outcome(Status.NOT_FOUND) if slot is None else state_get(engine, slot)
    if outcome.status is not Status.OK:
        return _refusal(outcome)
    body = b"".join(outcome.payload.chunks())
    if outcome.after is not None:
        outcome.after()
    return Reply(200, body, "application/octet-stream")


def put_state(engine: Engine, slot_id: str, request: Request) -> Flow:
    slot = _slot(engine, slot_id)
    if slot is None:
        return _refusal(Outcome(Status.NOT_FOUND))
    try:
        operation = begin_state_put(engine, slot, len(request.body), heeds_reservation=True)
        operation.receive(request.body)
        outcome = yield from operation.finish()
    except Answered as answered:
        return _refusal(answered.outcome)
    return Reply(200, to_json({**outcome.meta, "n_past": slot.n_past}))


def erase(engine: Engine, slot_id: str) -> Flow:
    yield from ()
    slot = _slot(engine, slot_id)
    if slot is None:
        return _refusal(Outcome(Status.NOT_FOUND))
    if not slot.free:
        return _refusal(Outcome(Status.BUSY))
    n_erased = len(slot.tokens)
    slot.wipe()
    engine.journal.write("erase", slot=slot.id, status=200, n_erased=n_erased)
    return Reply(200, to_json({"id_slot": slot.id, "n_erased": n_erased}))
