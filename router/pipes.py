"""What a child process writes, taken off its pipes with bounded memory: lines for the log, or the last bytes."""

from __future__ import annotations

import asyncio
import os
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


class PipeEnd:
    """One end of a pipe, to be handed to a transport: its descriptor is closed once.

    uvloop closes the descriptor and then the file object, which is the same number once more. By then a thread may have
    been given it for a file of its own; that would be closed under it, and later, by its thread, whatever came next. So
    the number is closed only as long as it is this pipe's.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._fd = os.dup(pipe.fileno())
        pipe.close()
        self._identity = self._looked_at()

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        if self._looked_at() == self._identity:
            os.close(self._fd)

    def _looked_at(self) -> tuple[int, int] | None:
        """None: the number is nobody's."""
        try:
            told = os.fstat(self._fd)
        except OSError:
            return None
        return told.st_dev, told.st_ino


async def read_into(pipe: IO[bytes], protocol: asyncio.Protocol) -> asyncio.ReadTransport:
    """Reads `pipe` to its end. Closing the transport stops that."""
    end = PipeEnd(pipe)
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, end)
    except BaseException:
        end.close()
        raise
    return transport


async def write_all(pipe: IO[bytes], data: bytes) -> asyncio.WriteTransport:
    """Writes `data` as fast as the reader takes it, then closes."""
    end = PipeEnd(pipe)
    try:
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(Feed, end)
    except BaseException:
        end.close()
        raise
    transport.write(data)
    transport.close()
    return transport
