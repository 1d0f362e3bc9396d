"""llama.cpp's sequence state file, as a slot save writes it: token list in front, state behind.

Little endian throughout:

    0       4     magic 0x67677371, on disk "qsgg"
    4       4     version (4; older builds wrote 2 and 3)
    8       4     W, the number of 32-bit words in the token payload
    12      4W    token payload, in one of two forms (`TokenForm`)
    12+4W   rest  sequence state (`wire.attention` reads that of a plain attention model)

Knows nothing of which versions a server takes, nor of what the state holds.
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass
from enum import Enum

from wire.attention import AttentionState, Layer, TransposedLayer, decode_attention, encode_attention
from wire.errors import LocalWireError, RemoteWireError

__all__ = [
    "HEAD_BYTES",
    "AttentionState",
    "Head",
    "Layer",
    "NewerForm",
    "StateFile",
    "TokenForm",
    "TransposedLayer",
    "decode_attention",
    "decode_statefile",
    "encode_attention",
    "encode_statefile",
    "read_head",
    "read_tokens",
    "read_version",
]

MAGIC = 0x67677371
VERSION = 4
MAX_TOKENS = 1 << 24
"""Limit of the token payload in words: far above any context, far below what would exhaust memory."""

HEAD_BYTES = 24
"""So many bytes from the front of a file are enough for `read_head`."""

_HEAD = struct.Struct("<III")
_COUNTED_FORMAT = 1
_MAX_TOKEN = 0x7FFFFFFF


class NewerForm(RemoteWireError):
    """A token payload of a form that is not known here; a newer server may well read it."""


class TokenForm(Enum):
    """How the token payload is laid down."""

    COUNTED = "counted"
    """-1, 1 (format), T, T ids, number of media items (0): W is T + 4."""
    BARE = "bare"
    """T ids and nothing else, as older servers wrote it: W is T."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """A whole save file. `state` is the sequence state as it is, unread."""

    tokens: tuple[int, ...]
    form: TokenForm
    state: bytes
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Head:
    """What the front of a file says; `state_offset` is where the sequence state begins."""

    version: int
    form: TokenForm
    n_tokens: int
    state_offset: int


def read_head(data: bytes) -> Head:
    """The head of a file from its first bytes; the ids and the state need not be there yet."""
    if len(data) < _HEAD.size:
        raise RemoteWireError(f"a state file of {len(data)} bytes: its head alone has {_HEAD.size}")
    magic, version, words = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise RemoteWireError(f"not a state file: magic {magic:#010x} instead of {MAGIC:#010x}")
    if words > MAX_TOKENS:
        raise RemoteWireError(f"a token payload of {words} words, more than {MAX_TOKENS}")
    state_offset = _HEAD.size + 4 * words
    if words == 0:
        return Head(version, TokenForm.BARE, 0, state_offset)
    if len(data) < min(state_offset, _HEAD.size + 12):
        raise RemoteWireError(f"a state file cut at {len(data)} bytes, inside its token payload of {4 * words}")
    (first,) = struct.unpack_from("<i", data, _HEAD.size)
    if first != -1:
        return Head(version, TokenForm.BARE, words, state_offset)
    return Head(version, TokenForm.COUNTED, _counted(data, words), state_offset)


def read_version(data: bytes) -> int:
    """The version that a file's first bytes name, whatever form its tokens have."""
    if len(data) < _HEAD.size:
        raise RemoteWireError(f"a state file of {len(data)} bytes: its head alone has {_HEAD.size}")
    return int(_HEAD.unpack_from(data)[1])


def _counted(data: bytes, words: int) -> int:
    if words < 4:
        raise RemoteWireError(f"a counted token payload of {words} words: it has at least 4")
    form, count = struct.unpack_from("<iI", data, _HEAD.size + 4)
    if form != _COUNTED_FORMAT:
        raise NewerForm(f"token payload format {form}, known is {_COUNTED_FORMAT}")
    if count != words - 4:
        raise RemoteWireError(f"{count} tokens counted in a payload that has room for {words - 4}")
    return int(count)


def read_tokens(data: bytes) -> tuple[int, ...]:
    """The tokens, from the bytes up to the state. RemoteWireError: cut short, a negative token, media items."""
    head = read_head(data)
    if len(data) < head.state_offset:
        raise RemoteWireError(f"a state file cut at {len(data)} bytes, inside its {head.n_tokens} tokens")
    payload = _words(data[_HEAD.size : head.state_offset])
    if head.form is TokenForm.COUNTED:
        if payload[-1] != 0:
            raise RemoteWireError(f"{payload[-1]} media items; only text is read")
        payload = payload[3:-1]
    if len(payload) and min(payload) < 0:
        raise RemoteWireError(f"a negative token: {min(payload)}")
    return tuple(payload)


def decode_statefile(data: bytes) -> StateFile:
    """The whole file. RemoteWireError: cut short, another format, a negative token, media items."""
    head = read_head(data)
    return StateFile(read_tokens(data), head.form, bytes(data[head.state_offset :]), head.version)


def encode_statefile(file: StateFile) -> bytes:
    """The file's bytes. LocalWireError: a token that is no 31-bit number, too many of them, no 32-bit version."""
    tokens = file.tokens
    if len(tokens) + 4 > MAX_TOKENS:
        raise LocalWireError(f"{len(tokens)} tokens, more than a state file may hold")
    if any(not 0 <= token <= _MAX_TOKEN for token in tokens):
        raise LocalWireError("a token that is negative or wider than 31 bits")
    if not 0 <= file.version <= 0xFFFFFFFF:
        raise LocalWireError(f"version {file.version} is no 32-bit number")
    ids = struct.pack(f"<{len(tokens)}i", *tokens)
    if file.form is TokenForm.COUNTED:
        ids = struct.pack("<iiI", -1, _COUNTED_FORMAT, len(tokens)) + ids + struct.pack("<I", 0)
    return _HEAD.pack(MAGIC, file.version, len(ids) // 4) + ids + file.state


def _words(raw: bytes) -> array[int]:
    words = array("i", raw)
    if sys.byteorder == "big":
        words.byteswap()
    return words
