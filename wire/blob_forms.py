"""Which form a state blob has: v2/v3, v1 or raw, decided by the checks and not by its first byte alone.

The first byte is ambiguous: a v1 blob with n_past 258 starts like a v2 one. So v2/v3 is what passes B2 to B11; v1
is what STATE_PUT may also be sent, and raw is what DECODE may also be sent. What would pass as two forms is refused.
"""

from __future__ import annotations

import struct

from wire.blob import KV_HEAD_BYTES, V2, V3, BlobV1, RawKv, StateBlob
from wire.blob_reader import BlobLimits, BlobRefused, check_counts, read_blob, unpack_tokens

_V1_HEAD_BYTES = 8


def read_for_put(data: bytes, limits: BlobLimits) -> StateBlob | BlobV1:
    """A STATE_PUT payload. Neither form: the error of v2/v3 where the first byte claims it, else that of v1."""
    current, refused = _maybe_current(data, limits)
    old, old_refused = _maybe_v1(data, limits)
    if current is not None and old is not None:
        raise BlobRefused("B2", "the bytes pass as v2/v3 and as v1")
    if current is not None:
        return current
    if old is not None:
        return old
    raise (refused if _claims_current(data) else old_refused) or refused or BlobRefused("B1", "the blob is empty")


def read_for_decode(data: bytes, limits: BlobLimits) -> StateBlob | RawKv:
    """A DECODE kv segment that is not empty: raw is whatever does not claim to be v2/v3."""
    if not data or _claims_current(data):
        return read_blob(data, limits)
    if len(data) < KV_HEAD_BYTES:
        raise BlobRefused("B11", f"{len(data)} bytes are too short for a KV stream")
    return RawKv(data)


def _claims_current(data: bytes) -> bool:
    return data[:1] in (bytes((V2,)), bytes((V3,)))


def _maybe_current(data: bytes, limits: BlobLimits) -> tuple[StateBlob | None, BlobRefused | None]:
    try:
        return read_blob(data, limits), None
    except BlobRefused as refused:
        return None, refused


def _maybe_v1(data: bytes, limits: BlobLimits) -> tuple[BlobV1 | None, BlobRefused | None]:
    try:
        return _read_v1(data, limits), None
    except BlobRefused as refused:
        return None, refused


def _read_v1(data: bytes, limits: BlobLimits) -> BlobV1:
    if len(data) < _V1_HEAD_BYTES + KV_HEAD_BYTES:
        raise BlobRefused("B2", f"{len(data)} bytes are too short for a v1 blob")
    n_past, n_tok = struct.unpack_from("<ii", data)
    if n_tok < 0 or n_tok > (len(data) - _V1_HEAD_BYTES - KV_HEAD_BYTES) // 4:
        raise BlobRefused("B3", f"{n_tok} tokens do not fit into a v1 blob of {len(data)} bytes")
    if n_past != n_tok:
        raise BlobRefused("B5", f"n_past {n_past} in a v1 blob of {n_tok} tokens")
    rest_at = _V1_HEAD_BYTES + 4 * n_tok
    check_counts(n_past, n_tok, len(data) - rest_at, limits)
    return BlobV1(n_past, unpack_tokens(data[_V1_HEAD_BYTES:rest_at], limits), data[rest_at:])
