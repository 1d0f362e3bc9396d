"""STATE_GET, STATE_PUT and STATE_META: a slot's state out, in, and looked at."""

from __future__ import annotations

from fakes.engine.blobs import EMPTY, BlobForm, Payload, write_blob
from fakes.engine.checkpoints import Snapshot
from fakes.engine.engine import Engine
from fakes.engine.intake import Carrier, Delivery, Intake, KvRefused
from fakes.engine.kv_stream import kv_stream_bytes
from fakes.engine.outcome import Answered, Operation, Outcome
from fakes.engine.slot import EngineSlot
from fakes.engine.steps import BlobDraft, Restore
from fakes.engine.work import Work
from fakes.point import Point
from wire.blob_reader import BlobRefused
from wire.errors import RemoteWireError
from wire.hydra import MAX_STATE_BYTES, Status

KV_REFUSED = "llama_state_set_data returned 0"


def state_meta(engine: Engine, slot: EngineSlot) -> Outcome:
    """Answered whatever the slot is doing."""
    values: dict[str, object] = {
        "slot_id": slot.id,
        "n_past": slot.n_past,
        "state_size": _state_bytes(engine, slot),
        "is_processing": slot.is_processing,
        "is_transferring": slot.transferring,
    }
    return Outcome(Status.OK, values | engine.identity_fields())


def state_get(engine: Engine, slot: EngineSlot) -> Outcome:
    """The slot counts as being transferred until the last byte has gone out."""
    if not slot.free:
        return Outcome(Status.BUSY)
    form = engine.config.form
    payload = slot_blob(engine, slot, "STATE_GET", form, logits=b"")
    meta = {"n_past": slot.n_past, "state_size": payload.state_bytes} | engine.identity_fields()
    slot.transferring = True
    engine.journal.write("state_get", slot=slot.id, n_tok=len(slot.tokens), n_past=slot.n_past, bytes=payload.size)

    def sent() -> None:
        slot.transferring = False
        engine.let_go(slot)

    return Outcome(Status.OK, meta, payload, sent)


def slot_blob(engine: Engine, slot: EngineSlot, op: str, form: BlobForm, logits: bytes) -> Payload:
    """The slot's state in the form that this engine writes; nothing for a slot without tokens."""
    if not slot.tokens:
        return EMPTY
    n_tok = len(slot.memory.cells)
    draft = BlobDraft(
        op=op,
        slot=slot.id,
        version=form.version,
        n_past=n_tok if op == "PREFILL" else slot.n_past,
        tokens=tuple(slot.tokens[:n_tok]),
        snapshot=_sent_snapshot(slot, form),
        logits=logits,
        as_v1=form is BlobForm.V1,
    )
    return write_blob(engine.at(Point.ENGINE_BLOB, draft), slot.memory, engine.config.padding)


def _sent_snapshot(slot: EngineSlot, form: BlobForm) -> Snapshot | None:
    wanted = form.recurrent_only(slot.memory.hybrid)
    fitting = [one for one in slot.snapshots if one.recurrent_only is wanted]
    return fitting[-1] if fitting else None


def _state_bytes(engine: Engine, slot: EngineSlot) -> int:
    return kv_stream_bytes(slot.memory.cells, slot.memory.recurrent, engine.config.padding) if slot.tokens else 0


def begin_state_put(engine: Engine, slot: EngineSlot, payload_len: int, *, heeds_reservation: bool) -> Operation:
    """Raises `Answered`. What the slot held is gone from here on, whether the new state is good or not."""
    if payload_len > MAX_STATE_BYTES:
        raise Answered(Outcome(Status.ERROR))
    if not slot.free or (heeds_reservation and slot.reserved_by is not None):
        raise Answered(Outcome(Status.BUSY, {"error": ""}))
    try:
        return _StatePut(engine, slot, payload_len)
    except BlobRefused as refused:
        raise _bad(engine, slot, refused) from None


class _StatePut:
    def __init__(self, engine: Engine, slot: EngineSlot, payload_len: int) -> None:
        self._engine = engine
        self._slot = slot
        self._intake = Intake(payload_len, Carrier.PUT, engine.limits(slot), engine.shape(slot))
        slot.transferring = True
        slot.snapshots = ()

    def receive(self, data: bytes) -> None:
        try:
            self._intake.receive(data)
        except RemoteWireError as refused:
            raise self._give_up(_bad(self._engine, self._slot, refused)) from None

    def finish(self) -> Work[Outcome]:
        try:
            delivery = self._intake.finish()
        except RemoteWireError as refused:
            raise self._give_up(_bad(self._engine, self._slot, refused)) from None
        except KvRefused as refused:
            raise self._give_up(_refused(self._engine, self._slot, str(refused))) from None
        yield from self._engine.reach(Point.ENGINE_RESTORE)
        failure = put_into_slot(self._engine, self._slot, "STATE_PUT", delivery)
        self.abandon()
        if failure:
            raise _refused(self._engine, self._slot, failure)
        meta = {"restored": True, "bytes": delivery.kv_bytes, "model_match": True}
        return Outcome(Status.OK, meta | self._engine.identity_fields())

    def abandon(self) -> None:
        self._slot.transferring = False
        self._engine.let_go(self._slot)

    def _give_up(self, answered: Answered) -> Answered:
        self.abandon()
        return answered


def put_into_slot(engine: Engine, slot: EngineSlot, op: str, delivery: Delivery) -> str:
    """Puts good state into the slot; the message of the failure where a fault makes it one, else nothing."""
    honest = Restore(op, slot.id, delivery.form, delivery.tokens)
    step = engine.at(Point.ENGINE_RESTORE, honest)
    slot.wipe()
    if step.failure:
        slot.tokens = list(step.tokens) if step.poisoned else []
        engine.journal.write("restore", op=op, slot=slot.id, form=step.form, ok=False, why=step.failure)
        return step.failure
    slot.memory.load(delivery.cells, delivery.recurrent, len(delivery.cells))
    slot.tokens = list(step.tokens)
    slot.snapshots = () if delivery.snapshot is None else (delivery.snapshot,)
    slot.restored_logits = delivery.logits
    slot.just_restored = bool(step.tokens)
    slot.frozen_s = step.frozen_s
    engine.journal.write(
        "restore",
        op=op,
        slot=slot.id,
        form=step.form,
        ok=True,
        n_tok=len(delivery.tokens),
        n_cells=len(delivery.cells),
        n_tokens_restored=len(slot.tokens),
        n_past=slot.n_past,
        tokens=slot.tokens,
        kv_bytes=delivery.kv_bytes,
        checkpoint=delivery.snapshot is not None,
        logits=delivery.logits is not None,
    )
    return ""


def _bad(engine: Engine, slot: EngineSlot, refused: RemoteWireError) -> Answered:
    """Bytes that are no blob; the slot ends empty all the same."""
    slot.wipe()
    engine.journal.write("restore", op="STATE_PUT", slot=slot.id, form="", ok=False, why=str(refused))
    return Answered(Outcome(Status.BAD_REQUEST, {"error": str(refused)}))


def _refused(engine: Engine, slot: EngineSlot, why: str) -> Answered:
    """A blob whose KV the reader does not take. Only what a fault poisons keeps its tokens."""
    if not slot.poisoned:
        slot.wipe()
    engine.journal.write("restore", op="STATE_PUT", slot=slot.id, form="", ok=False, why=why)
    return Answered(Outcome(Status.ERROR, {"error": KV_REFUSED}))
