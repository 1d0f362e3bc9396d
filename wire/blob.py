"""Hydra state blobs: a slot's tokens, its checkpoint and its KV stream, in the forms v1, v2 and v3.

v2 and v3 are `version, n_past, n_tok, tokens, flags, [checkpoint], KV stream, [logits]`; v1 is `n_past, n_tok,
tokens, KV` with no way to say more; raw is the KV stream alone. Where the KV stream ends and a logits tail begins
only its reader knows, so `rest` is both. Reading, with its checks, is in `wire.blob_reader` and `wire.blob_forms`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from wire.errors import LocalWireError

V2 = 0x02
V3 = 0x03
BLOB_HEAD = struct.Struct("<BII")
CHECKPOINT_HEAD = struct.Struct("<iiqQ")
FLAG_CHECKPOINT = 0x01
FLAG_RECURRENT_ONLY = 0x02
KV_HEAD_BYTES = 8
"""What every KV stream starts with: four bytes of I/O magic and an i32 sequence id, both opaque here."""


@dataclass(frozen=True, slots=True)
class CheckpointHead:
    """Where a checkpoint stands. `recurrent_only` false: the bytes are a full snapshot, and must be read as one."""

    pos_min: int
    pos_max: int
    n_tokens: int
    recurrent_only: bool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint with its bytes: of the main context, and of the draft context (empty when there is none)."""

    head: CheckpointHead
    target: bytes
    draft: bytes = b""


@dataclass(frozen=True, slots=True)
class StateBlob:
    """A v2 or v3 blob. `rest` is the KV stream, in a PREFILL payload with the logits tail behind it."""

    version: int
    n_past: int
    tokens: tuple[int, ...]
    rest: bytes
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, slots=True)
class BlobV1:
    """The old form: no flags and no checkpoint, so a receiver must invent one."""

    n_past: int
    tokens: tuple[int, ...]
    rest: bytes


@dataclass(frozen=True, slots=True)
class RawKv:
    """A KV stream without tokens: nothing that a prompt could be matched with."""

    rest: bytes


def encode_blob_head(version: int, n_past: int, tokens: tuple[int, ...], checkpoint: Checkpoint | None) -> bytes:
    """Everything of a v2 or v3 blob before its KV stream."""
    if version not in (V2, V3):
        raise LocalWireError(f"blob version {version} is neither 2 nor 3")
    if version == V2 and checkpoint is not None and checkpoint.head.recurrent_only:
        raise LocalWireError("a v2 blob cannot say that its checkpoint is recurrent-only")
    try:
        head = BLOB_HEAD.pack(version, n_past, len(tokens)) + pack_tokens(tokens)
        return head + _encode_checkpoint(checkpoint)
    except struct.error as error:
        raise LocalWireError(f"a number that the blob has no room for: {error}") from None


def encode_blob(blob: StateBlob) -> bytes:
    return encode_blob_head(blob.version, blob.n_past, blob.tokens, blob.checkpoint) + blob.rest


def encode_v1(blob: BlobV1) -> bytes:
    try:
        return struct.pack("<ii", blob.n_past, len(blob.tokens)) + pack_tokens(blob.tokens) + blob.rest
    except struct.error as error:
        raise LocalWireError(f"a number that the blob has no room for: {error}") from None


def pack_tokens(tokens: tuple[int, ...]) -> bytes:
    return struct.pack(f"<{len(tokens)}i", *tokens)


def _encode_checkpoint(checkpoint: Checkpoint | None) -> bytes:
    if checkpoint is None:
        return b"\x00"
    head = checkpoint.head
    flags = FLAG_CHECKPOINT | (FLAG_RECURRENT_ONLY if head.recurrent_only else 0)
    fixed = CHECKPOINT_HEAD.pack(head.pos_min, head.pos_max, head.n_tokens, len(checkpoint.target))
    draft = struct.pack("<Q", len(checkpoint.draft)) + checkpoint.draft
    return bytes((flags,)) + fixed + checkpoint.target + draft
