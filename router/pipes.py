"""What a child process writes, taken off its pipes with bounded memory: lines for the log, or the last bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import IO

MAX_LINE_BYTES = 4096


class Lines(asyncio.Protocol):
    """Hands on each line, without its end; a longer one in pieces."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._rest = b""
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._hand_on(line)
        if len(self._rest) > MAX_LINE_BYTES:
            self._hand_on(self._rest)
            self._rest = b""

    def _hand_on(self, line: bytes) -> None:
        for at in range(0, len(line), MAX_LINE_BYTES):
            self._take(line[at : at + MAX_LINE_BYTES].rstrip(b"\r"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest:
            self._hand_on(self._rest)
        self.ended.set()


class Tail(asyncio.Protocol):
    """Keeps the last `size` bytes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept = bytearray()
        self.ended = asyncio.Event()

    @property
    def kept(self) -> bytes:
        return bytes(self._kept[-self._size :])

    def data_received(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * self._size:
            del self._kept[: -self._size]

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


class Feed(asyncio.BaseProtocol):
    """The writing end of a pipe; a reader that leaves early is no error."""


async def read_into(pipe: IO[bytes], protocol: asyncio.Protocol) -> asyncio.ReadTransport:
    """Reads `pipe` to its end. Closing the transport stops that."""
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
    return transport


async def write_all(pipe: IO[bytes], data: bytes) -> asyncio.WriteTransport:
    """Writes `data` as fast as the reader takes it, then closes."""
    transport, _ = await asyncio.get_running_loop().connect_write_pipe(Feed, pipe)
    transport.write(data)
    transport.close()
    return transport
