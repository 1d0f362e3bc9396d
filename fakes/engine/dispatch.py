"""From a request's head to the operation it starts, or to the answer that needs no payload."""

from __future__ import annotations

from collections.abc import Callable

from fakes.engine import model_ops
from fakes.engine.config import Generation
from fakes.engine.decode_op import MergedDecode
from fakes.engine.engine import Engine
from fakes.engine.legacy_op import run_legacy
from fakes.engine.outcome import Answered, Buffered, Operation, Outcome
from fakes.engine.prefill_op import run_prefill
from fakes.engine.slot import EngineSlot
from fakes.engine.state_ops import begin_state_put, state_get, state_meta
from fakes.engine.steps import Admission
from fakes.engine.work import Work
from wire.hydra import Op, RequestHead, Status, maybe_slot

MAX_SMALL_PAYLOAD = 64 * 1024 * 1024
"""For operations whose reference takes any length."""
SLOT_OPS = frozenset({Op.STATE_GET, Op.STATE_PUT, Op.STATE_META, Op.PREFILL, Op.DECODE})
KNOWN = {int(op): op for op in Op}


def op_name(op: int) -> str:
    return KNOWN[op].name if op in KNOWN else f"{op:#04x}"


def head_slot(head: RequestHead) -> int | None:
    """The slot that a slot operation names."""
    return maybe_slot(head.key) if KNOWN.get(head.op) in SLOT_OPS else None


def begin(engine: Engine, head: RequestHead, admission: Admission) -> Operation:
    """Raises `Answered` where nothing needs to be read."""
    if admission.refusal is not None:
        raise Answered(Outcome(Status(admission.refusal.status), admission.refusal.meta))
    op = KNOWN.get(head.op)
    if op is None:
        raise Answered(Outcome(Status.ERROR))
    if op not in SLOT_OPS:
        return _small(head, _about_the_engine(engine, op))
    slot_id = maybe_slot(head.key)
    if slot_id is None:
        raise Answered(Outcome(Status.ERROR))
    slot = engine.maybe_slot(slot_id)
    if slot is not None and op is not Op.STATE_META:
        slot.occupied = admission.occupied
        slot.transferring = slot.transferring or admission.transferring
    trace = head.trace.decode(errors="replace")
    if op is Op.PREFILL:
        heeds = admission.heeds_reservation
        return _small(head, lambda data: run_prefill(engine, slot_id, data, trace, heeds_reservation=heeds))
    if op is Op.DECODE:
        return _decode(engine, head, slot_id, trace, admission)
    return _state(engine, op, slot, head, admission)


def _decode(engine: Engine, head: RequestHead, slot_id: int, trace: str, admission: Admission) -> Operation:
    generation = engine.config.generation
    if admission.legacy and generation is Generation.MERGED:
        generation = Generation.TEXT
    if generation is Generation.MERGED:
        return MergedDecode(engine, slot_id, head.payload_len, trace, kv_unread=admission.kv_unread)
    return _small(head, lambda data: run_legacy(engine, slot_id, data, trace, generation))


def _state(engine: Engine, op: Op, slot: EngineSlot | None, head: RequestHead, admission: Admission) -> Operation:
    if slot is None:
        meta = {"error": "invalid slot ID"} if op is Op.STATE_PUT else {}
        raise Answered(Outcome(Status.NOT_FOUND, meta))
    if op is Op.STATE_PUT:
        return begin_state_put(engine, slot, head.payload_len, heeds_reservation=admission.heeds_reservation)
    look = state_get if op is Op.STATE_GET else state_meta

    def answer(_: bytes) -> Work[Outcome]:
        yield from ()
        return look(engine, slot)

    return _small(head, answer)


def _about_the_engine(engine: Engine, op: Op) -> Callable[[bytes], Work[Outcome]]:
    answers: dict[Op, Callable[[bytes], Outcome]] = {
        Op.INFO: lambda _: model_ops.info(engine),
        Op.CONFIGURE: model_ops.configure,
        Op.SET_EXPERT_MODE: model_ops.set_expert_mode,
        Op.SWAP_QUANT: model_ops.swap_quant,
        Op.PIPELINE_ATTACH: lambda _: model_ops.pipeline_attach(),
    }

    def answer(payload: bytes) -> Work[Outcome]:
        yield from ()
        return answers[op](payload)

    return answer


def _small(head: RequestHead, handler: Callable[[bytes], Work[Outcome]]) -> Operation:
    if head.payload_len > MAX_SMALL_PAYLOAD:
        why = f"{head.payload_len} bytes of payload, at most {MAX_SMALL_PAYLOAD} are taken"
        raise Answered(Outcome(Status.BAD_REQUEST, {"success": False, "error": why}))
    return Buffered(handler)
