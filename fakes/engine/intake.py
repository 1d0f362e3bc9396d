"""State on its way into a slot: a STATE_PUT payload or a DECODE kv segment, fed as it arrives.

Small ones are kept until they are whole, since telling v1 from v2 needs the token list; large ones are read as
they come and must be v2 or v3. What comes out is the same: tokens, memory, a checkpoint, logits. Nothing touches
the slot here, so a refusal leaves it to the caller to wipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fakes.engine.checkpoints import Snapshot
from fakes.engine.kv_stream import KvReader, KvShape
from fakes.engine.logits import logits_bytes
from fakes.engine.snapshot_data import SnapshotRefused, check_snapshot, invented_snapshot
from wire.blob import BlobV1, CheckpointHead, RawKv, StateBlob
from wire.blob_forms import read_for_decode, read_for_put
from wire.blob_reader import BlobHead, BlobLimits, BlobPart, BlobReader, Part

STREAMED_FROM_BYTES = 16 * 1024 * 1024


class Carrier(Enum):
    """How the state comes: it decides what bytes that are neither v2 nor v3 mean."""

    PUT = "STATE_PUT"
    DECODE = "DECODE"


class KvRefused(Exception):
    """The KV reader consumed nothing, or left what is no logits tail (B13)."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """State that can be put into a slot. `form` is "v1", "v2", "v3" or "raw"; raw has no tokens of its own."""

    form: str
    n_past: int
    tokens: tuple[int, ...]
    cells: tuple[bytes, ...]
    recurrent: bytes
    snapshot: Snapshot | None
    logits: bytes | None
    kv_bytes: int


class Intake:
    """One delivery of `total` bytes. `receive` and `finish` raise `BlobRefused`, `finish` also `KvRefused`."""

    def __init__(self, total: int, carrier: Carrier, limits: BlobLimits, shape: KvShape) -> None:
        self._carrier = carrier
        self._limits = limits
        self._shape = shape
        self._kv = KvReader(shape, logits_bytes(limits.n_vocab))
        self._whole = bytearray()
        self._reader = BlobReader(total, limits) if total > STREAMED_FROM_BYTES else None
        self._head: BlobHead | None = None
        self._checkpoint: CheckpointHead | None = None
        self._target = bytearray()

    def receive(self, data: bytes) -> None:
        if self._reader is None:
            self._whole += data
            return
        for event in self._reader.receive(data):
            match event:
                case BlobHead():
                    self._head = event
                case CheckpointHead():
                    self._checkpoint = event
                case BlobPart(Part.TARGET, chunk):
                    self._target += chunk
                case BlobPart(Part.REST, chunk):
                    self._kv.receive(chunk)

    def finish(self) -> Delivery:
        """All bytes are there."""
        if self._reader is not None and self._head is not None:
            self._reader.close()
            snapshot = _snapshot(self._checkpoint, bytes(self._target))
            return self._delivery(f"v{self._head.version}", self._head.n_past, self._head.tokens, snapshot)
        blob = self._read_whole(bytes(self._whole))
        self._kv.receive(blob.rest)
        match blob:
            case RawKv():
                return self._delivery("raw", 0, (), None)
            case BlobV1():
                return self._delivery("v1", blob.n_past, blob.tokens, self._invented(len(blob.tokens)))
            case StateBlob():
                kept = blob.checkpoint
                snapshot = None if kept is None else _snapshot(kept.head, kept.target)
                return self._delivery(f"v{blob.version}", blob.n_past, blob.tokens, snapshot)

    def _read_whole(self, data: bytes) -> StateBlob | BlobV1 | RawKv:
        if self._carrier is Carrier.PUT:
            return read_for_put(data, self._limits)
        return read_for_decode(data, self._limits)

    def _delivery(self, form: str, n_past: int, tokens: tuple[int, ...], snapshot: Snapshot | None) -> Delivery:
        kv = self._kv
        if not kv.accepted_bytes:
            raise KvRefused("the KV reader took 0 bytes")
        if kv.remainder_bytes not in (0, logits_bytes(self._limits.n_vocab)):
            raise KvRefused(f"{kv.remainder_bytes} bytes behind the KV are no logits")
        if snapshot is not None:
            try:
                check_snapshot(snapshot, self._shape)
            except SnapshotRefused as refused:
                raise KvRefused(str(refused)) from None
        logits = kv.remainder if kv.remainder_bytes else None
        cells = tuple(kv.cells)
        return Delivery(form, n_past, tokens, cells, kv.recurrent, snapshot, logits, kv.accepted_bytes)

    def _invented(self, n_tok: int) -> Snapshot | None:
        """v1 brings no checkpoint, so one is made up: harmless for attention, wrong for recurrent memory."""
        if not self._kv.recurrent:
            return None
        return invented_snapshot(self._kv.recurrent, n_tok)


def _snapshot(head: CheckpointHead | None, target: bytes) -> Snapshot | None:
    if head is None:
        return None
    return Snapshot(head.pos_min, head.pos_max, head.n_tokens, head.recurrent_only, target)
