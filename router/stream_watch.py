"""Reads along in a stream that is relayed byte by byte: did the decoder finish it, and what did it count?

Whatever it does not understand only blinds it: the bytes go on to the client all the same.
"""

from __future__ import annotations

import json

from router.proof import Timings, read_timings
from wire.errors import RemoteWireError
from wire.sse import DONE, SseDecoder, SseEvent

MAX_EVENT_BYTES = 16 << 20
_DONE_LINE = b"data: " + DONE


class StreamWatch:
    """Feed it every chunk in order."""

    def __init__(self) -> None:
        self._decoder = SseDecoder(MAX_EVENT_BYTES)
        self._last_counted = b""
        self.blind = False
        self.n_events = 0
        self.done = False
        self.error: bytes | None = None
        """The first error frame's data."""

    def receive(self, chunk: bytes) -> None:
        if self.blind:
            return
        try:
            events = self._decoder.receive(chunk)
        except RemoteWireError:
            self.blind = True
            return
        for event in events:
            if isinstance(event, SseEvent):
                self._event(event.data)

    def _event(self, data: bytes) -> None:
        self.n_events += 1
        if data == DONE:
            self.done = True
        elif b'"timings"' in data:
            self._last_counted = data
        elif self.error is None and data.startswith(b'{"error"'):
            self.error = data

    @property
    def begun(self) -> bool:
        """An answer has begun, or something that cannot be read as one."""
        return self.n_events > 0 or self.blind

    @property
    def in_event(self) -> bool:
        """The last chunk ended inside an event."""
        return self._decoder.pending > 0

    @property
    def finished(self) -> bool:
        """The decoder said that it was done, or why not. A blind watch believes the transfer's own end."""
        return self.done or self.error is not None or self.blind

    def timings(self) -> Timings | None:
        """The counters of the last frame that had any."""
        return read_timings(self._last_counted)

    def error_status(self) -> int:
        """The status that the error frame carries, or 502."""
        try:
            code = json.loads(self.error or b"")["error"]["code"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return 502
        return code if type(code) is int and 400 <= code <= 599 else 502


class DoneHeldBack:
    """Lets a stream through up to its end mark, which waits until it is known whether the handoff was used."""

    def __init__(self) -> None:
        self.held = b""

    def receive(self, chunk: bytes) -> bytes:
        """What may go out now."""
        data = self.held + chunk
        at = _done_at(data)
        self.held = data[at:]
        return data[:at]


def _done_at(data: bytes) -> int:
    """Where the end mark, or what may become one, starts."""
    if data.startswith(_DONE_LINE):
        return 0
    at = data.find(b"\n" + _DONE_LINE)
    if at >= 0:
        return at + 1
    last_line = data.rfind(b"\n") + 1
    return last_line if _DONE_LINE.startswith(data[last_line:]) else len(data)
