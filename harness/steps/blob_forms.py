"""State that an engine wrote, in another of the forms that its like may receive.

The tokens and the KV stream stay as they are. A checkpoint that the engine did not send is made up: a model with
attention alone has to step over it and never reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from harness.errors import HarnessError
from wire.blob import V2, V3, BlobV1, Checkpoint, CheckpointHead, StateBlob, encode_blob, encode_v1
from wire.blob_reader import BlobLimits, read_blob
from wire.errors import WireError

_ANY = BlobLimits(n_ctx=2**31 - 1, n_vocab=2**31 - 1)
_MADE_UP = bytes(range(64))
TRAP_N_PAST = 258
"""In v1 this position starts with the byte that means version 2."""


class BlobForm(StrEnum):
    """`as-is` is what the engine sent; `v1-trap` is v1 with a first byte that reads as v2.

    The last five break a check that every reader has to make: the last byte is missing, the token count is 2^32-1, a
    checkpoint has 2^64-8 bytes, a flag is unknown, there is nothing.
    """

    AS_IS = "as-is"
    V1 = "v1"
    V1_TRAP = "v1-trap"
    V2 = "v2"
    V2_CHECKPOINT = "v2-checkpoint"
    V3 = "v3"
    V3_RECURRENT = "v3-recurrent"
    RAW = "raw"
    CUT = "cut"
    LYING = "lying"
    OVERFLOW = "overflow"
    BAD_FLAGS = "bad-flags"
    EMPTY = "empty"


def reshaped(data: bytes, form: BlobForm, logits_bytes: int) -> bytes:
    """HarnessError where the engine's own state cannot be read."""
    if form is BlobForm.AS_IS:
        return data
    try:
        blob = read_blob(data, _ANY)
    except WireError as error:
        raise HarnessError(f"the engine's state cannot be read: {error}") from error
    if form in _DAMAGE:
        return _DAMAGE[form](encode_blob(replace(blob, version=V3, checkpoint=None)), len(blob.tokens))
    n_tok = len(blob.tokens)
    kv = blob.rest[: len(blob.rest) - logits_bytes]
    match form:
        case BlobForm.RAW:
            return kv
        case BlobForm.V1:
            return encode_v1(BlobV1(n_tok, blob.tokens, kv))
        case BlobForm.V1_TRAP:
            return encode_v1(BlobV1(TRAP_N_PAST, blob.tokens, kv))
    return encode_blob(
        StateBlob(
            version=V2 if form in (BlobForm.V2, BlobForm.V2_CHECKPOINT) else V3,
            n_past=n_tok,
            tokens=blob.tokens,
            rest=blob.rest,
            checkpoint=_checkpoint(blob, form, n_tok),
        )
    )


def _flags_at(n_tok: int) -> int:
    return 9 + 4 * n_tok


def _overflow(data: bytes, n_tok: int) -> bytes:
    at = _flags_at(n_tok)
    return data[:at] + b"\x01" + struct.pack("<iiqQ", 0, 0, 1, 2**64 - 8) + data[at + 1 :]


_DAMAGE: dict[BlobForm, Callable[[bytes, int], bytes]] = {
    BlobForm.CUT: lambda data, _: data[:-1],
    BlobForm.LYING: lambda data, _: data[:5] + b"\xff\xff\xff\xff" + data[9:],
    BlobForm.OVERFLOW: _overflow,
    BlobForm.BAD_FLAGS: lambda data, n_tok: data[: _flags_at(n_tok)] + b"\x80" + data[_flags_at(n_tok) + 1 :],
    BlobForm.EMPTY: lambda _, __: b"",
}


def _checkpoint(blob: StateBlob, form: BlobForm, n_tok: int) -> Checkpoint | None:
    if form is BlobForm.V2_CHECKPOINT:
        return Checkpoint(CheckpointHead(0, n_tok - 1, n_tok, recurrent_only=False), _MADE_UP)
    if form is BlobForm.V3_RECURRENT:
        return blob.checkpoint or Checkpoint(CheckpointHead(n_tok - 1, n_tok - 1, n_tok, recurrent_only=True), _MADE_UP)
    return None
