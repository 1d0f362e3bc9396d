"""Connections to an engine's RPC port: one request at a time, payloads in both directions passed on and not held.

A frame has no mark to resynchronise on. So a connection carries another request only when the answer before it was
OK and whole and nothing stands behind it; after anything else it is closed, and the next request opens a new one.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections import deque
from dataclasses import dataclass

from router.errors import CutOff, NoAnswer, Unreachable
from wire.errors import RemoteWireError
from wire.hydra import Op, RequestHead, ResponseHead, Status, encode_request_head, slot_key
from wire.hydra_stream import FrameEnd, PayloadChunk, ResponseDecoder

CONNECT_TIMEOUT_S = 5.0
READ_BYTES = 1 << 18
"""Of a payload so much is in memory at a time, and a few times as much in the buffers on both sides."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine's RPC port is."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """A whole answer to a small request."""

    status: int
    meta: bytes

    @property
    def ok(self) -> bool:
        return self.status == Status.OK

    @property
    def word(self) -> str:
        return status_word(self.status)


def status_word(status: int) -> str:
    """A status by its name; one that has none as a number."""
    return Status(status).name if status in set(Status) else f"{status:#04x}"


class Connection:
    """One connection. `CutOff` and `NoAnswer` end it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = ResponseDecoder()
        self._events: deque[ResponseHead | PayloadChunk | FrameEnd] = deque()
        self._early: asyncio.Task[ResponseHead] | None = None
        self._clean = True

    @classmethod
    async def open(cls, address: Address, seconds: float) -> Connection:
        """Unreachable: there is none to be had."""
        try:
            async with asyncio.timeout(min(seconds, CONNECT_TIMEOUT_S)):
                reader, writer = await asyncio.open_connection(address.host, address.port, limit=READ_BYTES)
        except TimeoutError:
            raise Unreachable(f"no connection within {min(seconds, CONNECT_TIMEOUT_S):g} s") from None
        except OSError as error:
            raise Unreachable(str(error.strerror or error).lower()) from None
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(reader, writer)

    @property
    def reusable(self) -> bool:
        """Looks at the socket itself: an engine closes an idle connection without a word."""
        if not self._clean or not self._decoder.idle or self._events or self._writer.is_closing():
            return False
        waiting = select.poll()
        waiting.register(self._writer.get_extra_info("socket").fileno(), select.POLLIN | select.POLLRDHUP)
        return not waiting.poll(0)

    def close(self) -> None:
        if self._early is not None:
            self._early.cancel()
        self._clean = False
        if not self._writer.is_closing():
            self._writer.transport.abort()

    def begin(self, op: Op, slot: int, trace: str, payload_len: int) -> None:
        """A request's head. Its payload follows by `send`, its answer is told by `head`."""
        self._clean = False
        self._writer.write(encode_request_head(RequestHead(op, slot_key(slot), trace.encode(), payload_len)))
        self._early = asyncio.ensure_future(self._read_head())

    async def send(self, data: bytes, seconds: float) -> None:
        """Some of the payload. Returns when it may be followed by more, or when the answer has come."""
        assert self._early is not None
        self._writer.write(data)
        drained = asyncio.ensure_future(self._writer.drain())
        try:
            done, _ = await asyncio.wait({drained, self._early}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise NoAnswer(f"took no more of the payload for {seconds:g} s")
            if drained in done and drained.exception() is not None and not self._early.done():
                # What it answered before it hung up may still be on its way to us.
                await asyncio.wait({self._early}, timeout=seconds)
        finally:
            drained.cancel()
            await asyncio.gather(drained, return_exceptions=True)

    @property
    def answered(self) -> bool:
        """Whether the answer, or the end of the connection, is there already."""
        return self._early is not None and self._early.done()

    async def head(self, seconds: float) -> ResponseHead:
        """The answer up to its payload."""
        assert self._early is not None
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._early)
        except TimeoutError:
            raise NoAnswer(f"no answer within {seconds:g} s") from None

    async def chunk(self, seconds: float) -> bytes:
        """The next bytes of the answer's payload; empty at its end."""
        try:
            async with asyncio.timeout(seconds):
                event = await self._next()
        except TimeoutError:
            raise NoAnswer(f"stopped for {seconds:g} s") from None
        return event.data if isinstance(event, PayloadChunk) else b""

    def settled(self, *, ok: bool) -> None:
        """The answer was read to its end; the connection may go on only where it was OK."""
        self._early = None
        self._clean = ok

    async def _read_head(self) -> ResponseHead:
        event = await self._next()
        assert isinstance(event, ResponseHead)
        return event

    async def _next(self) -> ResponseHead | PayloadChunk | FrameEnd:
        """CutOff: the engine closed the connection or broke the framing."""
        while not self._events:
            try:
                data = await self._reader.read(READ_BYTES)
                if not data:
                    self._decoder.close()
                    raise CutOff("connection closed without an answer")
                self._events += self._decoder.receive(data)
            except RemoteWireError as error:
                raise CutOff(str(error)) from None
            except OSError as error:
                raise CutOff(str(error.strerror or error).lower()) from None
        return self._events.popleft()


class Session:
    """An engine as one request uses it: its connection is opened when it is needed and dropped when it is not clean."""

    def __init__(self, address: Address, trace: str) -> None:
        self._address = address
        self._trace = trace
        self._connection: Connection | None = None

    async def connection(self, seconds: float) -> Connection:
        """The one that is open, if it may carry another request; else a new one."""
        if self._connection is None or not self._connection.reusable:
            self.close()
            self._connection = await Connection.open(self._address, seconds)
        return self._connection

    async def begin(self, op: Op, slot: int, payload_len: int, seconds: float) -> Connection:
        """A request whose payload or answer is large: the caller sends and reads it, and says when it is settled."""
        connection = await self.connection(seconds)
        connection.begin(op, slot, self._trace, payload_len)
        return connection

    async def call(self, op: Op, slot: int, seconds: float) -> RpcAnswer:
        """A request and an answer without payloads."""
        connection = await self.begin(op, slot, 0, seconds)
        try:
            head = await connection.head(seconds)
            if head.payload_len:
                raise CutOff(f"{op.name} answered with {head.payload_len} bytes that nobody asked for")
            await connection.chunk(seconds)
        except BaseException:
            self.close()
            raise
        connection.settled(ok=head.status == Status.OK)
        return RpcAnswer(head.status, head.meta)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
