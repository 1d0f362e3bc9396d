"""Hydra RPC: the frames of requests and answers, as values and as bytes.

Little-endian throughout. One connection carries requests strictly one after another, and a frame has no mark to
resynchronise on: after any `RemoteWireError` from a decoder here the connection is worth nothing and must be closed.
What the payload of an operation means is not known here; see `wire.blob` and `wire.decode`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from wire.errors import LocalWireError

MAGIC = 0x4859
REQUEST_HEAD = struct.Struct("<HBBHQH")
RESPONSE_LENGTH = 12
MAX_KEY_BYTES = MAX_TRACE_BYTES = 0xFFFF
MAX_META_BYTES = 0xFFFFFF
MAX_STATE_BYTES = 4 * 1024**3
"""Largest STATE_PUT payload and DECODE kv segment; a peer that announces more is refused before memory is taken."""
GGML_RPC_FIRST_BYTE = 0x0E
"""As the first byte of a connection it selects another protocol on the same port."""


class Op(IntEnum):
    """What a request asks for. Anything else on the wire stays a plain number, since peers may know more."""

    STATE_GET = 0x30
    STATE_PUT = 0x31
    STATE_META = 0x32
    CONFIGURE = 0x40
    INFO = 0x41
    PREFILL = 0x42
    DECODE = 0x43
    SET_EXPERT_MODE = 0x44
    SWAP_QUANT = 0x45
    PIPELINE_ATTACH = 0x46


class Status(IntEnum):
    """What an answer says. An unknown number is no protocol error: it is a failure, in a frame that is whole."""

    OK = 0x00
    NOT_FOUND = 0x01
    ERROR = 0x02
    PARTIAL = 0x03
    BUSY = 0x04
    BAD_REQUEST = 0x05
    NOT_IMPLEMENTED = 0x06


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request up to its payload. `op` and `flags` are as they came; only flags 0 is ever sent by us."""

    op: int
    key: bytes = b""
    trace: bytes = b""
    payload_len: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """An answer up to its payload. `meta` is the bytes as sent: `wire.hydra_meta` reads them."""

    status: int
    meta: bytes = b""
    payload_len: int = 0


def encode_request_head(head: RequestHead) -> bytes:
    """The 16 fixed bytes, the key and the trace id; `payload_len` payload bytes are to follow."""
    _fits("op", head.op, 0xFF)
    _fits("flags", head.flags, 0xFF)
    _fits("key length", len(head.key), MAX_KEY_BYTES)
    _fits("trace length", len(head.trace), MAX_TRACE_BYTES)
    _fits("payload length", head.payload_len, 2**64 - 1)
    fixed = REQUEST_HEAD.pack(MAGIC, head.op, head.flags, len(head.key), head.payload_len, len(head.trace))
    return fixed + head.key + head.trace


def encode_response_head(head: ResponseHead) -> bytes:
    """The 12 fixed bytes and the meta; `payload_len` payload bytes are to follow."""
    _fits("status", head.status, 0xFF)
    _fits("meta length", len(head.meta), MAX_META_BYTES)
    _fits("payload length", head.payload_len, 2**64 - 1)
    lengths = len(head.meta).to_bytes(3, "little") + head.payload_len.to_bytes(8, "little")
    return bytes((head.status,)) + lengths + head.meta


def encode_request(op: int, *, key: bytes = b"", trace: bytes = b"", payload: bytes = b"") -> bytes:
    """A whole request, for payloads that are small enough to be joined."""
    return encode_request_head(RequestHead(op, key, trace, len(payload))) + payload


def encode_response(status: int, *, meta: bytes = b"", payload: bytes = b"") -> bytes:
    """A whole answer, for payloads that are small enough to be joined."""
    return encode_response_head(ResponseHead(status, meta, len(payload))) + payload


def slot_key(slot: int) -> bytes:
    """The key of every slot operation: the slot id in ASCII decimal."""
    _fits("slot id", slot, 2**31 - 1)
    return str(slot).encode()


def maybe_slot(key: bytes) -> int | None:
    """The slot id of a key, or None when it is not one: at most ten ASCII digits and nothing else."""
    return int(key) if 0 < len(key) <= 10 and key.isdigit() and key.isascii() else None


def _fits(what: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise LocalWireError(f"{what} {value} is not in 0..{most}")
