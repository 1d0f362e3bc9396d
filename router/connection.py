"""Connections to one server: kept for the next request, and given to it only if the peer has not closed them.

A peer that closes an idle connection does so without a word, llama-server after 5 s and some builds right after a
stream. So a connection is looked at before it is used again and is kept for a short time only. After a stream it
rests for a moment first, until this peer has been seen to leave such a connection open. What breaks after the
request was written is `CutOff`, since the peer may have begun.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import ssl
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

from router.errors import CutOff, Unreachable
from router.http1 import Head, ReplyReader

CONNECT_TIMEOUT_S = 5.0
IDLE_S = 2.0
MAX_IDLE = 64
SETTLED_S = 0.1
"""A connection that is still open so long after a stream was left open on purpose."""
HIGH_WATER_BYTES = 1 << 20
"""As much of a reply waits here for a client that reads slowly; then the peer is not read from."""


class Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reader = ReplyReader()
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._paused = False
        self._error: CutOff | None = None
        self._changed: asyncio.Future[None] | None = None
        self._n_requests = 0
        self.idle_since = 0.0
        self.on_closed: Callable[[], None] | None = None
        """Told when the peer closes it while nobody uses it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        if self._error is not None:
            return
        try:
            part = self._reader.receive(data)
        except CutOff as error:
            self._fail(error)
            return
        if part:
            self._waiting.append(part)
            self._waiting_bytes += len(part)
            if self._waiting_bytes > HIGH_WATER_BYTES and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self.on_closed is not None:
            self.on_closed()
        if self._error is None:
            try:
                self._reader.close()
            except CutOff as error:
                self._error = CutOff(f"{error} ({exc})") if exc is not None and str(exc) else error
        self._wake()

    def send(self, request: bytes) -> None:
        """Begins a request. CutOff: the connection is gone; nothing was sent."""
        if self._transport is None or self._transport.is_closing():
            raise CutOff("connection closed before the request was sent")
        self._reader = ReplyReader()
        self._n_requests += 1
        self._waiting, self._waiting_bytes = [], 0
        self._transport.write(request)

    async def head(self) -> Head:
        """The reply's head, when it is there."""
        while self._reader.head is None:
            await self._change()
        return self._reader.head

    async def chunk(self) -> bytes:
        """The next bytes of the body; empty at its end."""
        while not self._waiting:
            if self._reader.ended:
                return b""
            await self._change()
        chunk = self._waiting[0] if len(self._waiting) == 1 else b"".join(self._waiting)
        self._waiting, self._waiting_bytes = [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return chunk

    @property
    def may_reuse(self) -> bool:
        """The reply was read to its end and the peer said nothing against another request."""
        head = self._reader.head
        whole = self._reader.ended and not self._waiting and self._error is None
        return whole and head is not None and head.may_reuse and self.is_open

    @property
    def streamed(self) -> bool:
        """Its last reply came without a length."""
        head = self._reader.head
        return head is not None and "transfer-encoding" in head.headers

    @property
    def broke_when_reused(self) -> bool:
        """The peer closed it instead of answering a request that was not its first."""
        return self._n_requests > 1 and self._error is not None and self._reader.head is None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def is_quiet(self) -> bool:
        """Whether the peer has neither closed nor said anything since. Looks at the socket itself, since the loop
        may not have come to it yet."""
        if self._transport is None or not self.is_open:
            return False
        waiting = select.poll()
        waiting.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN | select.POLLRDHUP)
        return not waiting.poll(0)

    def abort(self) -> None:
        """Closes at once; the peer sees that nobody waits for its reply."""
        if self._transport is not None:
            self._transport.abort()

    async def _change(self) -> None:
        """Waits for anything to come. CutOff: nothing will."""
        if self._error is not None:
            raise self._error
        self._changed = asyncio.get_running_loop().create_future()
        await self._changed
        if self._error is not None:
            raise self._error

    def _fail(self, error: CutOff) -> None:
        self._error = error
        self._wake()
        self.abort()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)


class Pool:
    """Connections to the server of one URL."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self.host_header = parts.netloc
        self._host = parts.hostname
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls is not None else 80)
        self._idle: list[Connection] = []
        self.on_idle_closed: Callable[[], None] = lambda: None
        """Told when the peer closes a connection that it has been seen to leave open, and that nobody uses."""
        self._keeps_streams = False
        """Whether the peer leaves a connection open after a stream."""

    async def take(self) -> Connection:
        """A connection that nobody uses. Unreachable: none can be made."""
        now = asyncio.get_running_loop().time()
        resting: list[Connection] = []
        found: Connection | None = None
        while self._idle and found is None:
            connection = self._idle.pop()
            told, connection.on_closed = connection.on_closed, None
            idle_s = now - connection.idle_since
            if idle_s >= IDLE_S or not connection.is_quiet():
                if idle_s < IDLE_S and told is not None:
                    told()
                connection.abort()
            elif connection.streamed and not self._keeps_streams and idle_s < SETTLED_S:
                connection.on_closed = told
                resting.append(connection)
            else:
                found = connection
        self._idle += reversed(resting)
        if found is None:
            return await self._connect()
        self._keeps_streams = self._keeps_streams or found.streamed
        return found

    def give_back(self, connection: Connection) -> None:
        """Kept if it can carry another request, else closed."""
        if connection.broke_when_reused:
            self._keeps_streams = False
        if not connection.may_reuse or len(self._idle) >= MAX_IDLE:
            connection.abort()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        connection.on_closed = self._rests_closed if connection.streamed else self.on_idle_closed
        self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            connection = self._idle.pop()
            connection.on_closed = None
            connection.abort()

    def _rests_closed(self) -> None:
        """Some builds close a connection right after a stream: that says nothing of them."""
        if self._keeps_streams:
            self.on_idle_closed()

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                transport, connection = await loop.create_connection(Connection, self._host, self._port, ssl=self._tls)
        except TimeoutError:
            raise Unreachable(f"no connection within {CONNECT_TIMEOUT_S:g} s") from None
        except ssl.SSLError as error:
            raise Unreachable(_tls_reason(error)) from None
        except OSError as error:
            raise Unreachable(_reason(error)) from None
        if transport.get_extra_info("sockname") == transport.get_extra_info("peername"):
            # Where nobody listens on a port of this machine's own range for outgoing connections, the kernel may
            # give a connection to it that very port, and it is connected to itself.
            transport.abort()
            raise Unreachable("connection refused")
        return connection


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return f"no TLS with it: {error.reason or error}"


def _reason(error: OSError) -> str:
    """By number where there is one: the loops word it differently."""
    return os.strerror(error.errno).lower() if error.errno is not None and error.errno > 0 else str(error)
