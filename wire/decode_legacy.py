"""The two older generations of DECODE: frames of nine bytes (A), and length-prefixed text without an end (B).

A: the payload length is known in advance and each frame is a token, its logprob, and a flag on the last one.
B: the head says payload 0 and pieces follow until the connection closes, so a failure cannot be told from an end.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from wire.errors import LocalWireError, RemoteWireError

_FRAME = struct.Struct("<IfB")
FRAME_BYTES = _FRAME.size
_FINAL = 0x01
MAX_PIECE_BYTES = 1024 * 1024
"""Our own bound: a piece is the text of one token."""


@dataclass(frozen=True, slots=True)
class TokenFrame:
    """One decoded token of generation A. `logprob` is an f32 on the wire."""

    token: int
    logprob: float
    final: bool


def encode_token_frame(frame: TokenFrame) -> bytes:
    try:
        return _FRAME.pack(frame.token, frame.logprob, _FINAL if frame.final else 0)
    except (struct.error, OverflowError) as error:
        raise LocalWireError(f"a token frame has no room for {frame}: {error}") from None


class TokenFrameDecoder:
    """Generation A: fed with a payload of exactly `payload_len` bytes, in any chunking."""

    def __init__(self, payload_len: int) -> None:
        if payload_len % FRAME_BYTES:
            raise RemoteWireError(f"a payload of {payload_len} bytes is no whole number of {FRAME_BYTES}-byte frames")
        self._frames_left = payload_len // FRAME_BYTES
        self._pending = bytearray()

    def receive(self, data: bytes) -> list[TokenFrame]:
        self._pending += data
        frames = []
        while len(self._pending) >= FRAME_BYTES:
            frames.append(self._frame(bytes(self._pending[:FRAME_BYTES])))
            del self._pending[:FRAME_BYTES]
        return frames

    def close(self) -> None:
        if self._frames_left or self._pending:
            raise RemoteWireError(f"the answer ends with {self._frames_left} token frames missing")

    def _frame(self, data: bytes) -> TokenFrame:
        if not self._frames_left:
            raise RemoteWireError("a token frame behind the announced ones")
        self._frames_left -= 1
        token, logprob, flags = _FRAME.unpack(data)
        final = bool(flags & _FINAL)
        if final and self._frames_left:
            raise RemoteWireError(f"the final flag with {self._frames_left} frames to come")
        if not final and not self._frames_left:
            raise RemoteWireError("the last token frame has no final flag")
        return TokenFrame(token, logprob, final)


def encode_piece(text: bytes) -> bytes:
    """`text` may be part of a UTF-8 sequence."""
    if len(text) > MAX_PIECE_BYTES:
        raise LocalWireError(f"a piece of {len(text)} bytes, at most {MAX_PIECE_BYTES} are taken")
    return len(text).to_bytes(4, "little") + text


class PieceDecoder:
    """Generation B: pieces of text until the peer closes. Empty pieces are legal and skipped."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def receive(self, data: bytes) -> list[bytes]:
        self._pending += data
        pieces: list[bytes] = []
        while len(self._pending) >= 4:
            length = int.from_bytes(self._pending[:4], "little")
            if length > MAX_PIECE_BYTES:
                raise RemoteWireError(f"a piece announces {length} bytes, at most {MAX_PIECE_BYTES} are taken")
            if len(self._pending) < 4 + length:
                break
            if length:
                pieces.append(bytes(self._pending[4 : 4 + length]))
            del self._pending[: 4 + length]
        return pieces

    def close(self) -> None:
        """The peer closed: a legal end between two pieces, though it cannot be told from a failure."""
        if self._pending:
            raise RemoteWireError(f"closed inside a piece, {len(self._pending)} bytes pending")
