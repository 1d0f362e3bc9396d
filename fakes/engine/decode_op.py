"""The merged DECODE: what is checked before it is accepted, and what is then restored and generated unseen.

The early answer says that the request was accepted and nothing else: the restore has not begun. What becomes of it
is told by the stored result alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fakes.api_error import ApiError
from fakes.engine.apply import Apply, start_apply
from fakes.engine.config import Resident
from fakes.engine.engine import Engine
from fakes.engine.intake import Carrier, Delivery, Intake, KvRefused
from fakes.engine.kv_stream import KvShape
from fakes.engine.memory import Memory
from fakes.engine.outcome import Answered, Outcome
from fakes.engine.requests import Wanted, read_wanted
from fakes.engine.slot import EngineSlot
from fakes.engine.work import Work
from wire.decode import ControlHeader, DecodeReader, KvChunk, PromptSegment
from wire.errors import RemoteWireError
from wire.fields import parse_object
from wire.hashes import RunningHash
from wire.hydra import Status
from wire.hydra_identity import Match, compare, decode_identity, encode_match

CAP_MISMATCH = "CAP_MISMATCH"
"""The one error code there is, whatever the reason."""
LATE_KV_REFUSED = "KV restore failed (llama_state_seq_set_data returned 0)"


class MergedDecode:
    """One DECODE in the three-segment frame. Refusals leave the slot as it was, except for a blob that is bad."""

    def __init__(self, engine: Engine, slot_id: int, payload_len: int, trace: str, *, kv_unread: bool) -> None:
        self._engine = engine
        self._slot_id = slot_id
        self._trace = trace
        self._kv_unread = kv_unread
        self._hash = RunningHash()
        self._intake: Intake | None = None
        self._accepted: _Accepted | None = None
        self._wanted: Wanted | None = None
        try:
            self._reader = DecodeReader(payload_len)
        except RemoteWireError as error:
            raise _bad_request(str(error)) from None

    def receive(self, data: bytes) -> None:
        try:
            for event in self._reader.receive(data):
                match event:
                    case ControlHeader():
                        self._control(event)
                    case PromptSegment(prompt):
                        self._prompt(prompt)
                    case KvChunk(chunk):
                        self._kv(chunk)
        except RemoteWireError as error:
            raise self._bad_blob_or_frame(error) from None

    def finish(self) -> Work[Outcome]:
        try:
            self._reader.close()
            late, delivery = self._delivered()
        except RemoteWireError as error:
            raise self._bad_blob_or_frame(error) from None
        yield from ()
        return self._accept(delivery, late)

    def abandon(self) -> None:
        """Nothing was begun."""

    def _control(self, header: ControlHeader) -> None:
        engine, slot = self._engine, self._engine.maybe_slot(self._slot_id)
        if slot is None:
            raise _refused("invalid slot ID")
        if not slot.free:
            raise _refused("slot is busy")
        if slot.reserved_by is not None:
            raise _refused("slot reserved for another decode")
        target = engine.maybe_model(header.model) or engine.resident
        match = compare(decode_identity(header.kv_metadata), target.identity)
        if not match.passes:
            raise _refused("model_capabilities_mismatch", match)
        self._accepted = _Accepted(header, slot, target, match)
        if header.kv.length and not self._kv_unread:
            memory = Memory(target.model)
            shape = KvShape(target.model.cell_bytes, slot.n_ctx, memory.recurrent_bytes)
            limits = engine.limits(slot)
            self._intake = Intake(header.kv.length, Carrier.DECODE, limits, shape)

    def _prompt(self, prompt: bytes) -> None:
        accepted = self._accepted
        assert accepted is not None
        try:
            body = _prompt_body(prompt) | {
                key: value for key, value in accepted.header.generation.items() if key not in _prompt_body(prompt)
            }
            self._wanted = read_wanted(accepted.target.model, body)
        except (RemoteWireError, ApiError) as error:
            meta = {"error": f"prompt build failed: {error}", "decode_request_id": -1}
            raise Answered(Outcome(Status.BAD_REQUEST, meta)) from None
        if not 0 < len(self._wanted.tokens) <= accepted.slot.n_ctx:
            meta = {"error": f"prompt build failed: {len(self._wanted.tokens)} tokens", "decode_request_id": -1}
            raise Answered(Outcome(Status.BAD_REQUEST, meta))
        if self._kv_unread:
            raise Answered(self._accept(None, ""))

    def _kv(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        if self._intake is not None:
            self._intake.receive(chunk)

    def _delivered(self) -> tuple[str, Delivery | None]:
        """What is to be restored, and the failure that only the stored result will tell."""
        assert self._accepted is not None
        wanted = self._accepted.header.kv.hash
        if wanted is not None and self._hash.value != wanted:
            raise RemoteWireError(f"the kv segment hashes to {self._hash.value:016x}, not to {wanted:016x}")
        if self._intake is None:
            return "", None
        try:
            return "", self._intake.finish()
        except KvRefused:
            return LATE_KV_REFUSED, None

    def _accept(self, delivery: Delivery | None, late: str) -> Outcome:
        engine, accepted, wanted = self._engine, self._accepted, self._wanted
        assert accepted is not None
        assert wanted is not None
        entry = engine.entries.add(accepted.slot.id, engine.now())
        entry.match = encode_match(accepted.match)
        engine.executed("DECODE", self._trace, accepted.slot.id)
        n_past = accepted.header.kv_metadata.get("n_past")
        start_apply(
            engine,
            Apply(
                entry, accepted.slot, accepted.target, accepted.header, wanted, delivery, late, n_past, self._hash.value
            ),
        )
        meta = {
            "valid": True,
            "decode_request_id": entry.request_id,
            "match": entry.match,
            "n_past_after_restore": 0,
            "restore_slot_ms": 0,
        }
        return Outcome(Status.OK, meta)

    def _bad_blob_or_frame(self, error: RemoteWireError) -> Answered:
        if self._intake is not None and self._accepted is not None and self._accepted.slot.free:
            self._accepted.slot.wipe()
        return _bad_request(str(error))


@dataclass(frozen=True, slots=True)
class _Accepted:
    """What the control header led to."""

    header: ControlHeader
    slot: EngineSlot
    target: Resident
    match: Match


def _prompt_body(prompt: bytes) -> dict[str, Any]:
    """The prompt segment as a request body; a bare array is its messages."""
    if prompt.lstrip()[:1] == b"[":
        return parse_object(b'{"messages":' + prompt + b"}", "the prompt segment")
    return parse_object(prompt, "the prompt segment")


def _bad_request(why: str) -> Answered:
    return Answered(Outcome(Status.BAD_REQUEST, {"error": why}))


def _refused(reason: str, match: Match | None = None) -> Answered:
    meta: Mapping[str, Any] = {
        "valid": False,
        "decode_request_id": -1,
        "reason": reason,
        "error_code": CAP_MISMATCH,
        "match": {} if match is None else encode_match(match),
    }
    return Answered(Outcome(Status.ERROR, meta))
