"""DECODE_APPLY: what happens to an accepted DECODE after its early answer, moved along by the table of states."""

from __future__ import annotations

from dataclasses import dataclass

from fakes.effects import ClientGone
from fakes.engine import completions
from fakes.engine.apply_states import HOLDS_RESERVATION, ApplyEvent, ApplyState, moved
from fakes.engine.config import Resident
from fakes.engine.engine import Engine
from fakes.engine.entries import Entry, EntryState
from fakes.engine.generate import Served, generate
from fakes.engine.intake import Delivery
from fakes.engine.requests import Wanted
from fakes.engine.slot import EngineSlot
from fakes.engine.state_ops import put_into_slot
from fakes.engine.work import Work
from fakes.point import Point
from wire.decode import ControlHeader
from wire.hashes import encode_hash
from wire.hydra_identity import compare, decode_identity


@dataclass(frozen=True, slots=True)
class Apply:
    """All of an accepted DECODE. `late` is a failure that is known already and told only by the stored result."""

    entry: Entry
    slot: EngineSlot
    target: Resident
    header: ControlHeader
    wanted: Wanted
    delivery: Delivery | None
    late: str
    n_past: object
    kv_hash: int
    """Of the bytes of the kv segment as they came."""


class ApplyFailed(Exception):
    """The stored result becomes this message."""


def start_apply(engine: Engine, apply: Apply) -> None:
    """Reserves the slot, and goes on in the background."""
    apply.slot.reserved_by = apply.entry.request_id
    engine.journal.write(
        "reserved",
        slot=apply.slot.id,
        decode_request_id=apply.entry.request_id,
        kv_bytes=apply.header.kv.length,
        kv_hash=encode_hash(apply.kv_hash),
    )
    run = _Run(engine, apply)
    apply.entry.cancel = engine.spawn(run.work()).cancel


class _Run:
    def __init__(self, engine: Engine, apply: Apply) -> None:
        self._engine = engine
        self._apply = apply
        self._state = moved(ApplyState.CHECKING, ApplyEvent.ACCEPT)

    def work(self) -> Work[None]:
        entry = self._apply.entry
        try:
            yield from self._prepare()
            yield from self._restore()
            yield from self._generate()
        except ApplyFailed as failed:
            self._move(ApplyEvent.FAIL)
            entry.state, entry.message = EntryState.FAILED, str(failed)
        except ClientGone:
            self._move(ApplyEvent.CANCEL)
            self._engine.entries.remove(entry.request_id)
        finally:
            self._unreserve()
            entry.change()

    def _move(self, event: ApplyEvent) -> None:
        self._state = moved(self._state, event)
        self._engine.journal.write(
            "decode_apply", decode_request_id=self._apply.entry.request_id, move=event.value, state=self._state.value
        )
        if self._state not in HOLDS_RESERVATION:
            self._unreserve()

    def _unreserve(self) -> None:
        slot, entry = self._apply.slot, self._apply.entry
        if slot.reserved_by == entry.request_id:
            slot.reserved_by = None
            self._engine.journal.write("unreserved", slot=slot.id, decode_request_id=entry.request_id)

    def _prepare(self) -> Work[None]:
        engine, target = self._engine, self._apply.target
        yield from engine.reach(Point.ENGINE_ACCEPTED)
        if target is engine.resident:
            self._move(ApplyEvent.RESIDENT)
        else:
            self._move(ApplyEvent.SWAP)
            engine.swap(target)
            self._move(ApplyEvent.PASS)
        if not compare(decode_identity(self._apply.header.kv_metadata), engine.identity).passes:
            raise ApplyFailed("Gate B identity mismatch after model load")
        self._move(ApplyEvent.PASS)

    def _restore(self) -> Work[None]:
        engine, apply = self._engine, self._apply
        apply.entry.state = EntryState.RESTORING
        yield from engine.reach(Point.ENGINE_RESTORE)
        if apply.late:
            apply.slot.wipe()
            engine.journal.write("restore", op="DECODE", slot=apply.slot.id, form="", ok=False, why=apply.late)
            raise ApplyFailed(apply.late)
        if apply.delivery is None:
            self._move(ApplyEvent.NOTHING_TO_RESTORE)
            return
        failure = put_into_slot(engine, apply.slot, "DECODE", apply.delivery)
        if failure:
            raise ApplyFailed(failure)
        self._log_restore(apply.delivery)
        self._move(ApplyEvent.RESTORED)

    def _log_restore(self, delivery: Delivery) -> None:
        slot, log = self._apply.slot, self._engine.log
        if slot.tokens:
            log(
                f"hydra: DECODE_APPLY slot={slot.id} {delivery.form} blob:"
                f" restored {len(slot.tokens)} tokens from header"
            )
        for snapshot in slot.snapshots:
            log(f"hydra: DECODE_APPLY registered native checkpoint ({snapshot.pos_min}..{snapshot.pos_max})")
        n_past = slot.n_past if slot.tokens else self._apply.n_past
        log(f"hydra: DECODE_APPLY slot={slot.id} restore=0ms n_past={n_past} model_load_ms=0")

    def _generate(self) -> Work[None]:
        engine, apply, entry = self._engine, self._apply, self._apply.entry
        tokenizer = apply.target.model.tokenizer
        self._move(ApplyEvent.MATCHED)
        entry.state = EntryState.GENERATING
        entry.change()
        yield from engine.reach(Point.ENGINE_STREAM)

        def on_token(token: int) -> Work[None]:
            entry.pieces.append(completions.text_of(tokenizer, [token]))
            entry.change()
            yield from ()

        served = yield from generate(
            engine, apply.slot, apply.wanted, "DECODE", apply.slot.id, on_token, request_id=entry.request_id
        )
        self._move(ApplyEvent.END)
        entry.body = self._final(served)
        entry.finish = completions.FINISH[served.reply.stop]
        entry.state = EntryState.DONE

    def _final(self, served: Served) -> dict[str, object]:
        entry, engine = self._apply.entry, self._engine
        reply = served.reply
        text = "".join(entry.pieces)
        times = completions.timings(reply, served.prompt_s, served.predicted_s)
        metrics = {
            "n_past": self._apply.slot.n_past,
            "decode_ms": times["predicted_ms"],
            "prompt_ms": times["prompt_ms"],
            "model_load_ms": 0,
            "restore_slot_ms": 0,
            "n_common": 0,
            "n_prompt_processed": 0,
            "logits_reused": False,
            "match": entry.match,
            "model_fallback": False,
        }
        body = completions.whole(f"chatcmpl-{entry.request_id}", engine.resident.alias, text, reply, times)
        return body | {"id_slot": entry.slot, "hydra_metrics": metrics}
