"""A slot's state as the bytes that PREFILL and STATE_GET send, with every way to get them wrong.

The bytes come in chunks, so that state of gigabytes is never held; the size is known before the first of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain

from fakes.engine.checkpoints import Snapshot
from fakes.engine.kv_stream import kv_stream, kv_stream_bytes
from fakes.engine.memory import Memory
from fakes.engine.steps import BlobDraft
from wire.blob import V2, V3, BlobV1, Checkpoint, CheckpointHead, encode_blob_head, encode_v1
from wire.hashes import RunningHash

FLAGS_FROM_TOKENS = 9
"""Where the tokens begin; the flags stand right behind them."""


class BlobForm(Enum):
    """What an engine writes. AUTO is what current ones do: v3, with a recurrent-only checkpoint where it is needed."""

    AUTO = "auto"
    V1 = "v1"
    V2 = "v2"
    V2_CHECKPOINT = "v2-checkpoint"
    V3 = "v3"
    V3_FULL = "v3-full"
    V3_RECURRENT = "v3-recurrent"

    @property
    def version(self) -> int:
        return V2 if self in (BlobForm.V2, BlobForm.V2_CHECKPOINT) else V3

    def recurrent_only(self, hybrid: bool) -> bool | None:
        """What kind of checkpoint goes along: recurrent-only, a full one (False), or None."""
        if self is BlobForm.AUTO:
            return True if hybrid else None
        return {BlobForm.V2_CHECKPOINT: False, BlobForm.V3_FULL: False, BlobForm.V3_RECURRENT: True}.get(self)


@dataclass(frozen=True, slots=True)
class Payload:
    """So many bytes, and where they come from, each time anew. `state_bytes` are those of the KV stream in it."""

    size: int
    chunks: Callable[[], Iterator[bytes]]
    state_bytes: int = 0
    logits_bytes: int = 0

    def hash(self) -> int:
        running = RunningHash()
        for chunk in self.chunks():
            running.update(chunk)
        return running.value


EMPTY = Payload(0, lambda: iter(()))


def write_blob(draft: BlobDraft, memory: Memory, padding: int) -> Payload:
    if draft.absent:
        return EMPTY
    head = _head(draft)
    state = kv_stream_bytes(memory.cells, memory.recurrent, padding)
    cells, recurrent = tuple(memory.cells), memory.recurrent  # both may change while the bytes still go out

    size = max(0, len(head) + state + len(draft.logits) - draft.drop_tail)

    def chunks() -> Iterator[bytes]:
        left = size
        for chunk in chain((head,), kv_stream(cells, recurrent, padding), (draft.logits,)):
            yield chunk[:left]
            left -= len(chunk[:left])

    return Payload(size, chunks, state, len(draft.logits))


def _head(draft: BlobDraft) -> bytes:
    if draft.as_v1:
        return encode_v1(BlobV1(draft.n_past, draft.tokens, b""))
    head = bytearray(encode_blob_head(draft.version, draft.n_past, draft.tokens, _checkpoint(draft.snapshot)))
    flags_at = FLAGS_FROM_TOKENS + 4 * len(draft.tokens)
    if draft.n_tok_announced is not None:
        struct.pack_into("<I", head, 5, draft.n_tok_announced)
    if draft.flags_announced is not None:
        head[flags_at] = draft.flags_announced
    if draft.target_announced is not None:
        if len(head) == flags_at + 1:
            head[flags_at] = 1
            head += bytes(32)
        struct.pack_into("<Q", head, flags_at + 17, draft.target_announced)
    return bytes(head)


def _checkpoint(snapshot: Snapshot | None) -> Checkpoint | None:
    if snapshot is None:
        return None
    head = CheckpointHead(snapshot.pos_min, snapshot.pos_max, snapshot.n_tokens, snapshot.recurrent_only)
    return Checkpoint(head, snapshot.data)
