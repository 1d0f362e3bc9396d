"""Server-sent events: bytes into events and comments, and back.

Knows the framing alone, not what an event's data means. Lines end with LF or CRLF. A field that the
standard does not name is an error and not skipped: a server that breaks its framing should be seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from wire.errors import LocalWireError, RemoteWireError

DONE = b"[DONE]"
MAX_EVENT_BYTES = 1 << 20
"""Default limit of one event. A chat frame with logprobs is a few KiB; a final frame that echoes a
32,000-token prompt a few hundred."""

_SILENT_FIELDS = frozenset((b"event", b"id", b"retry"))


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One dispatched event; its `data` lines are joined by LF."""

    data: bytes


@dataclass(frozen=True, slots=True)
class SseComment:
    """A line that starts with a colon; servers send empty ones as pings."""

    text: bytes


class SseDecoder:
    """Feed it bytes as they come, however the network cut them."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._event_bytes = 0
        self._closed = False

    @property
    def pending(self) -> int:
        """Bytes received of an event or line that has not ended."""
        return self._event_bytes + len(self._line)

    def receive(self, data: bytes) -> list[SseEvent | SseComment]:
        """The events and comments that `data` completes. RemoteWireError: no event stream, or one too long."""
        if self._closed:
            raise LocalWireError(f"{len(data)} bytes fed to a closed event stream")
        found: list[SseEvent | SseComment] = []
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._take(line)
            self._end_line(found)
        self._take(rest)
        return found

    def close(self) -> None:
        """The peer closed. RemoteWireError if that cut an event short."""
        self._closed = True
        if self.pending:
            raise RemoteWireError(f"the event stream was cut: {self.pending} bytes of an unfinished event")

    def _take(self, part: bytes) -> None:
        if self.pending + len(part) > self._max:
            raise RemoteWireError(f"an event of more than {self._max} bytes")
        self._line += part

    def _end_line(self, found: list[SseEvent | SseComment]) -> None:
        line = bytes(self._line)
        self._line.clear()
        line = line.removesuffix(b"\r")
        if not line:
            if self._data:
                found.append(SseEvent(b"\n".join(self._data)))
            self._data = []
            self._event_bytes = 0
        elif line.startswith(b":"):
            found.append(SseComment(_value(line[1:])))
        else:
            self._field(line)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(_value(value))
        elif name not in _SILENT_FIELDS:
            raise RemoteWireError(f"not an event-stream line: {line[:60]!r}")
        self._event_bytes += len(line) + 1


def encode_event(data: bytes) -> bytes:
    """One event as llama-server frames it: a `data:` line for each line of `data`, then a blank line."""
    if b"\r" in data:
        raise LocalWireError("a carriage return in an event's data would be read as a line end")
    return b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"


def encode_comment(text: bytes = b"") -> bytes:
    """A comment and a blank line; without text the three bytes of a ping."""
    if b"\n" in text or b"\r" in text:
        raise LocalWireError("a comment is a single line")
    return b":" + (b" " + text if text else b"") + b"\n\n"


def _value(raw: bytes) -> bytes:
    return raw[1:] if raw.startswith(b" ") else raw
