"""A closed-loop HTTP/1.1 load: a fixed number of connections, each sending its next request when its reply has ended.

It knows requests as ready bytes and replies only so far as to find their end, so that the client stays much cheaper
than any server it measures. It is no HTTP client for other purposes.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_CLOSE = re.compile(rb"(?i)\r\nconnection: *close")
_CHUNKED = re.compile(rb"(?i)\r\ntransfer-encoding: *chunked")
_LAST_CHUNK = b"0\r\n\r\n"
DEADLINE_S = 120.0


def post(path: str, body: Mapping[str, Any]) -> bytes:
    """The bytes of a JSON POST to a loopback server."""
    payload = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


@dataclass(slots=True)
class Load:
    """What one load saw. Times are seconds; `events` counts SSE data lines over all replies."""

    latencies_s: list[float] = field(default_factory=list)
    first_bytes_s: list[float] = field(default_factory=list)
    events: int = 0
    failed: int = 0
    wall_s: float = 0.0

    @property
    def requests_per_s(self) -> float:
        return len(self.latencies_s) / self.wall_s

    @property
    def events_per_s(self) -> float:
        return self.events / self.wall_s

    @property
    def median_ms(self) -> float:
        return statistics.median(self.latencies_s) * 1e3

    @property
    def first_byte_median_ms(self) -> float:
        return statistics.median(self.first_bytes_s) * 1e3


class _Connection(asyncio.Protocol):
    """One connection's loop: send, find the reply's end, record, send again; reconnects where the server closes."""

    def __init__(self, load: Load, request: bytes, count: int, done: asyncio.Future[None]) -> None:
        self.load, self.request, self.left, self.done = load, request, count, done
        self.transport: asyncio.Transport | None = None
        self.buffer = bytearray()
        self.sent_at = self.first_at = 0.0
        self.body_at = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._send()

    def _send(self) -> None:
        assert self.transport is not None
        self.buffer.clear()
        self.body_at = -1
        self.first_at = 0.0
        self.sent_at = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.body_at < 0:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self.body_at = end + 4
        if not self.first_at and len(self.buffer) > self.body_at:
            self.first_at = time.perf_counter()
        head = bytes(self.buffer[: self.body_at])
        if _CHUNKED.search(head):
            # The head ends like a last chunk where its last header ends in 0.
            whole = self.buffer.endswith(_LAST_CHUNK) and len(self.buffer) >= self.body_at + len(_LAST_CHUNK)
        else:
            length = _LENGTH.search(head)
            whole = length is not None and len(self.buffer) >= self.body_at + int(length[1])
        if whole:
            self._ended(head)

    def _ended(self, head: bytes) -> None:
        now = time.perf_counter()
        self.load.latencies_s.append(now - self.sent_at)
        self.load.first_bytes_s.append(self.first_at - self.sent_at)
        self.load.events += self.buffer.count(b"data: ")
        if not head.startswith(b"HTTP/1.1 200"):
            self.load.failed += 1
        self.left -= 1
        closing = bool(_CLOSE.search(head))
        if self.left > 0 and not closing:
            self._send()
            return
        assert self.transport is not None
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def _drive(port: int, load: Load, request: bytes, count: int) -> None:
    loop = asyncio.get_running_loop()
    left = count
    while left > 0:
        done: asyncio.Future[None] = loop.create_future()
        one = partial(_Connection, load, request, left, done)
        _, connection = await loop.create_connection(one, "127.0.0.1", port)
        await done
        if connection.left == left:
            raise ConnectionError(f"127.0.0.1:{port} closed a connection before it answered")
        left = connection.left


async def _run(port: int, requests: Sequence[bytes], count: int) -> Load:
    load = Load()
    started = time.perf_counter()
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        for request in requests:
            group.create_task(_drive(port, load, request, count))
    load.wall_s = time.perf_counter() - started
    return load


def run(port: int, requests: Sequence[bytes], count: int) -> Load:
    """Send each of `requests` over a connection of its own, `count` times, all connections at once."""
    import uvloop

    return uvloop.run(_run(port, requests, count))
