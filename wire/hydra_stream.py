"""Hydra frames out of a byte stream, however the network cut it, payloads passed on without being held.

A decoder is fed whatever was read and gives events back: a head, then its payload in chunks, then `FrameEnd`. The
next frame may follow in the same bytes. Lengths are refused before memory is taken: what is kept between two calls
is never more than one head with its key and trace, or one meta of the size the caller allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from wire.errors import RemoteWireError
from wire.hydra import MAGIC, MAX_STATE_BYTES, REQUEST_HEAD, RESPONSE_LENGTH, RequestHead, ResponseHead

DEFAULT_MAX_META_BYTES = 1024 * 1024
"""Real metas are under a kilobyte; the field would allow 16 MiB."""

Head = TypeVar("Head", RequestHead, ResponseHead)


@dataclass(frozen=True, slots=True)
class PayloadChunk:
    """Some of the payload, in order, never empty."""

    data: bytes


@dataclass(frozen=True, slots=True)
class FrameEnd:
    """The frame is whole: every announced byte was seen."""


class _Frames(Generic[Head]):
    """What both directions share. `maybe_head` reads a head off the pending bytes: (head, bytes used), or None."""

    def __init__(self, what: str, maybe_head: Callable[[bytearray], tuple[Head, int] | None]) -> None:
        self._what = what
        self._maybe_head: Callable[[bytearray], tuple[Head, int] | None] = maybe_head
        self._pending = bytearray()
        self._head: Head | None = None
        self._left = 0

    @property
    def idle(self) -> bool:
        return self._head is None and not self._pending

    def feed(self, data: bytes) -> Iterator[Head | PayloadChunk | FrameEnd]:
        self._pending += data
        while True:
            if self._head is None:
                found = self._maybe_head(self._pending)
                if found is None:
                    return
                self._head, used = found
                self._left = self._head.payload_len
                del self._pending[:used]
                yield self._head
            if self._left and self._pending:
                chunk = bytes(self._pending[: self._left])
                del self._pending[: len(chunk)]
                self._left -= len(chunk)
                yield PayloadChunk(chunk)
            if self._left:
                return
            self._head = None
            yield FrameEnd()  # last, since a reader of one frame stops here

    def close(self) -> None:
        if self._head is not None:
            raise RemoteWireError(f"closed with {self._left} of {self._head.payload_len} payload bytes missing")
        if self._pending:
            raise RemoteWireError(f"closed after {len(self._pending)} bytes of the head of the next {self._what}")


class RequestDecoder:
    """The engine's side. Raises `RemoteWireError` on a wrong magic; a payload too large is the caller's to refuse."""

    def __init__(self) -> None:
        self._frames: _Frames[RequestHead] = _Frames("request", _maybe_request_head)

    @property
    def idle(self) -> bool:
        return self._frames.idle

    def receive(self, data: bytes) -> list[RequestHead | PayloadChunk | FrameEnd]:
        return list(self._frames.feed(data))

    def close(self) -> None:
        """The peer closed: an error unless between frames."""
        self._frames.close()


class ResponseDecoder:
    """The client's side. Answers with more meta or payload than allowed are refused at their head."""

    def __init__(
        self, *, max_meta_bytes: int = DEFAULT_MAX_META_BYTES, max_payload_bytes: int = MAX_STATE_BYTES
    ) -> None:
        def maybe_head(pending: bytearray) -> tuple[ResponseHead, int] | None:
            return _maybe_response_head(pending, max_meta_bytes, max_payload_bytes)

        self._frames: _Frames[ResponseHead] = _Frames("answer", maybe_head)

    @property
    def idle(self) -> bool:
        """Between frames, nothing pending: the only state in which the connection may carry another request."""
        return self._frames.idle

    def receive(self, data: bytes) -> list[ResponseHead | PayloadChunk | FrameEnd]:
        """One answer's events and no more: what stands behind it is kept, and `idle` is false."""
        events: list[ResponseHead | PayloadChunk | FrameEnd] = []
        for event in self._frames.feed(data):
            events.append(event)
            if isinstance(event, FrameEnd):
                break
        return events

    def close(self) -> None:
        """The peer closed: an error unless between frames."""
        self._frames.close()


def _maybe_request_head(pending: bytearray) -> tuple[RequestHead, int] | None:
    if not MAGIC.to_bytes(2, "little").startswith(pending[:2]):
        raise RemoteWireError(f"a request starts with 59 48, not {pending[:2].hex(' ')}")
    if len(pending) < REQUEST_HEAD.size:
        return None
    _, op, flags, key_len, payload_len, trace_len = REQUEST_HEAD.unpack_from(pending)
    key_end = REQUEST_HEAD.size + key_len
    end = key_end + trace_len
    if len(pending) < end:
        return None
    key, trace = bytes(pending[REQUEST_HEAD.size : key_end]), bytes(pending[key_end:end])
    return RequestHead(op, key, trace, payload_len, flags), end


def _maybe_response_head(pending: bytearray, max_meta: int, max_payload: int) -> tuple[ResponseHead, int] | None:
    if len(pending) < RESPONSE_LENGTH:
        return None
    meta_len = int.from_bytes(pending[1:4], "little")
    payload_len = int.from_bytes(pending[4:12], "little")
    if meta_len > max_meta:
        raise RemoteWireError(f"an answer announces {meta_len} bytes of meta, at most {max_meta} are taken")
    if payload_len > max_payload:
        raise RemoteWireError(f"an answer announces {payload_len} bytes of payload, at most {max_payload} are taken")
    end = RESPONSE_LENGTH + meta_len
    if len(pending) < end:
        return None
    return ResponseHead(pending[0], bytes(pending[RESPONSE_LENGTH:end]), payload_len), end
