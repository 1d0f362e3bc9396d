"""PREFILL: a prompt evaluated on a slot, answered with the slot's state.

Whatever goes wrong here arrives as ERROR with an empty meta: the engine does not tell a busy slot from bad JSON.
"""

from __future__ import annotations

from fakes.api_error import ApiError
from fakes.engine.engine import Engine
from fakes.engine.logits import encode_logits
from fakes.engine.outcome import Outcome
from fakes.engine.requests import read_wanted
from fakes.engine.slot import EngineSlot
from fakes.engine.state_ops import slot_blob
from fakes.engine.work import Work, prefill
from fakes.point import Point
from wire.errors import RemoteWireError
from wire.fields import parse_object
from wire.hashes import encode_hash
from wire.hydra import Status


def run_prefill(engine: Engine, slot_id: int, payload: bytes, trace: str, *, heeds_reservation: bool) -> Work[Outcome]:
    try:
        body = parse_object(payload, "the payload of PREFILL")
        fallback = _load(engine, body.get("model"))
        tokens = read_wanted(engine.resident.model, body).tokens
    except (RemoteWireError, ApiError) as error:
        return _error(engine, slot_id, str(error))
    slot = engine.maybe_slot(slot_id)
    if slot is None or not slot.free:
        return _error(engine, slot_id, "no such slot" if slot is None else "the slot is busy")
    if heeds_reservation and slot.reserved_by is not None:
        return _error(engine, slot_id, "the slot is reserved")
    if not tokens:
        return Outcome(Status.OK, {"n_past": 0, "state_size": 0, "logits_size": 0} | engine.identity_fields())
    if len(tokens) > slot.n_ctx:
        return _error(engine, slot_id, f"{len(tokens)} tokens do not fit into {slot.n_ctx}")
    return (yield from _evaluate(engine, slot, tokens, trace, fallback))


def _load(engine: Engine, alias: object) -> bool:
    """Swaps to a known model that is not resident; whether the resident one stands in for an unknown one."""
    if not isinstance(alias, str) or not alias:
        return False
    known = engine.maybe_model(alias)
    if known is None:
        return True
    if known is not engine.resident:
        engine.swap(known)
    return False


def _evaluate(engine: Engine, slot: EngineSlot, tokens: tuple[int, ...], trace: str, fallback: bool) -> Work[Outcome]:
    started = engine.now()
    engine.executed("PREFILL", trace, slot.id)
    slot.working = "prefill"
    try:
        yield from prefill(slot, tokens, engine.config.form, engine.speed)
        engine.counters.count_prompt(len(tokens), 0, engine.now() - started)
        yield from engine.reach(Point.ENGINE_BLOB)
        logits = encode_logits(slot.memory.next_token(), engine.n_vocab)
        payload = slot_blob(engine, slot, "PREFILL", engine.config.form, logits)
        slot.n_cached = slot.n_decoded = 0
    finally:
        engine.let_go(slot)
    took_ms = round(1000 * (engine.now() - started), 3)
    kv_hash = encode_hash(payload.hash()) if engine.config.hash_payload else None
    engine.journal.write(
        "prefill",
        slot=slot.id,
        trace=trace,
        n_prompt=len(tokens),
        prompt_tokens=list(tokens),
        bytes=payload.size,
        kv_hash=kv_hash,
    )
    meta: dict[str, object] = {
        "n_past": len(tokens),
        "state_size": payload.state_bytes,
        "logits_size": payload.logits_bytes,
        "model_fallback": fallback,
        "prefill_ms": took_ms,
    }
    if kv_hash is not None:
        meta["kv_hash_str"] = kv_hash
    return Outcome(Status.OK, meta | engine.identity_fields(), payload)


def _error(engine: Engine, slot_id: int, why: str) -> Outcome:
    engine.journal.write("prefill_refused", slot=slot_id, why=why)
    return Outcome(Status.ERROR)
