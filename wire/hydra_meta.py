"""What the metas of Hydra answers say, read strictly: a missing position is an error and never a zero.

Only the fields somebody acts on are read; the rest of a meta is a peer's to add. `RemoteWireError` names the field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wire.errors import RemoteWireError
from wire.fields import parse_object, whole
from wire.hashes import maybe_hash
from wire.hydra import MAX_STATE_BYTES
from wire.hydra_identity import Identity, decode_identity

MAX_POSITION = 2**31 - 1
MAX_REQUEST_ID = 2**63 - 1
MAX_MS = 1e12
MERGED_DECODE = "merged_decode"
"""In the list of capabilities of INFO: DECODE speaks the merged frame. Without it none may be sent."""


@dataclass(frozen=True, slots=True)
class SlotMeta:
    """STATE_META: what a slot holds and whether it works."""

    n_past: int
    is_processing: bool
    is_transferring: bool
    identity: Identity


@dataclass(frozen=True, slots=True)
class PrefillMeta:
    """PREFILL: `state_bytes` and `logits_bytes` are sizes of parts; what to read is the frame's payload length."""

    n_past: int
    state_bytes: int
    logits_bytes: int
    model_fallback: bool
    identity: Identity
    prefill_ms: float | None = None
    kv_hash: int | None = None
    """Over the whole payload, where the engine says it."""


@dataclass(frozen=True, slots=True)
class PutMeta:
    """STATE_PUT: `n_past` None is what the binary path sends; the position is then that of the blob."""

    restored: bool
    n_past: int | None
    identity: Identity


@dataclass(frozen=True, slots=True)
class DecodeAccepted:
    """The early answer of a merged DECODE. Nothing was restored yet: it carries no position that means anything."""

    request_id: int


@dataclass(frozen=True, slots=True)
class DecodeRefused:
    """A DECODE that was not accepted. `reason` tells the cause; the error code never does."""

    reason: str
    error_code: str


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """INFO."""

    capabilities: frozenset[str]
    identity: Identity

    @property
    def merged_decode(self) -> bool:
        return MERGED_DECODE in self.capabilities


def decode_slot_meta(meta: bytes) -> SlotMeta:
    values = parse_object(meta, "the meta of STATE_META")
    return SlotMeta(
        n_past=whole(values.get("n_past"), "n_past", 0, MAX_POSITION),
        is_processing=_truth(values, "is_processing"),
        is_transferring=_truth(values, "is_transferring"),
        identity=decode_identity(values),
    )


def decode_prefill_meta(meta: bytes) -> PrefillMeta:
    values = parse_object(meta, "the meta of PREFILL")
    return PrefillMeta(
        n_past=whole(values.get("n_past"), "n_past", 0, MAX_POSITION),
        state_bytes=whole(values.get("state_size"), "state_size", 0, MAX_STATE_BYTES),
        logits_bytes=whole(values.get("logits_size", 0), "logits_size", 0, MAX_STATE_BYTES),
        model_fallback=values.get("model_fallback") is True,
        identity=decode_identity(values),
        prefill_ms=_duration(values.get("prefill_ms")),
        kv_hash=maybe_hash(_text(values, "kv_hash_str")),
    )


def decode_put_meta(meta: bytes) -> PutMeta:
    values = parse_object(meta, "the meta of STATE_PUT")
    n_past = values.get("n_past")
    return PutMeta(
        restored=values.get("restored") is not False,
        n_past=None if n_past is None else whole(n_past, "n_past", 0, MAX_POSITION),
        identity=decode_identity(values),
    )


def decode_decode_meta(meta: bytes) -> DecodeAccepted | DecodeRefused:
    values = parse_object(meta, "the meta of DECODE")
    if values.get("valid") is True:
        return DecodeAccepted(whole(values.get("decode_request_id"), "decode_request_id", 0, MAX_REQUEST_ID))
    return DecodeRefused(_text(values, "reason") or _text(values, "error"), _text(values, "error_code"))


def decode_info(meta: bytes) -> EngineInfo:
    values = parse_object(meta, "the meta of INFO")
    capabilities = values.get("capabilities")
    if not isinstance(capabilities, list):
        raise RemoteWireError("capabilities in the meta of INFO is no list")
    return EngineInfo(frozenset(map(str, capabilities)), decode_identity(values))


def _duration(value: object) -> float | None:
    """Milliseconds; anything that is none is not known."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < MAX_MS else None  # type: ignore[arg-type,operator]


def _truth(values: dict[str, Any], key: str) -> bool:
    value = values.get(key)
    if not isinstance(value, bool):
        raise RemoteWireError(f"{key} is neither true nor false")
    return value


def _text(values: dict[str, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""
