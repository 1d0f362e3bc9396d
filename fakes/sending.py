"""Sending an answer otherwise than at once: in drips, cut at a byte, held back. Made only for answers that need it."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

from fakes.steps import Halt, Sending

_HEAD_END = b"\r\n\r\n"
_FLUSH_S = 0.001
_LINGER_NOT = struct.pack("ii", 1, 0)


def reset(transport: asyncio.Transport) -> None:
    """End the connection with a reset instead of an end; what was not sent yet is dropped."""
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    transport.abort()


def when_flushed(transport: asyncio.Transport, then: Callable[[], object]) -> None:
    """Call `then` when all that was written is the kernel's."""
    loop = asyncio.get_running_loop()

    def look() -> None:
        if transport.get_write_buffer_size() and not transport.is_closing():
            loop.call_later(_FLUSH_S, look)
        else:
            then()

    loop.call_soon(look)


class Sender:
    """Takes an answer's bytes and sends them as `sending` says. `done` is called when all are out, or it has halted.

    `halted` says how it stopped short; None while it goes on, and where it got to the end.
    """

    def __init__(self, transport: asyncio.Transport, sending: Sending, done: Callable[[Halt | None], object]) -> None:
        self._transport = transport
        self._sending = sending
        self._done = done
        self._waiting = bytearray()
        self._sent = 0
        self._head_is_out = False
        self._last = b""
        self._ended = False
        self._timer: asyncio.TimerHandle | None = None
        self.halted: Halt | None = None

    def write(self, data: bytes) -> None:
        if self.halted is None:
            self._waiting += data
            self._go()

    def end(self) -> None:
        """The answer is complete."""
        self._ended = True
        if self.halted is None:
            self._go()

    def stop(self) -> None:
        """The connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
        self.halted = self.halted or Halt.CLOSE

    def _go(self) -> None:
        if self._timer is not None or (self._sending.gather and not self._ended):
            return
        self._send()

    def _send(self) -> None:
        self._timer = None
        piece = self._piece()
        if piece:
            self._transport.write(piece)
            self._sent += len(piece)
            del self._waiting[: len(piece)]
        stop_at = self._sending.stop_at
        if stop_at is not None and (self._sent >= stop_at or (self._ended and not self._waiting)):
            self.halted = self._sending.halt
            when_flushed(self._transport, lambda: self._done(self.halted))
        elif self._waiting:
            self._timer = asyncio.get_running_loop().call_later(self._sending.gap_s, self._send)
        elif self._ended:
            self._done(None)

    def _piece(self) -> bytes:
        size = len(self._waiting)
        if self._sending.piece_bytes is not None and not (self._sending.head_only and self._head_is_out):
            size = min(size, self._sending.piece_bytes)
        if self._sending.stop_at is not None:
            size = min(size, self._sending.stop_at - self._sent)
        piece = bytes(self._waiting[:size])
        if not self._head_is_out:
            around = self._last + piece
            self._head_is_out, self._last = _HEAD_END in around, around[-3:]
        return piece
