"""The RPC port: connections, the workers that serve them, and answers written as the step says.

A connection holds its worker as long as it lives; those that find none wait unanswered, and beyond a number they
are closed at once. What an operation does is not known here.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from fakes.engine.blobs import Payload
from fakes.engine.dispatch import begin, head_slot, op_name
from fakes.engine.driver import drive, wait
from fakes.engine.engine import Engine, ProcessEnds
from fakes.engine.outcome import Answered, Operation, Outcome
from fakes.engine.steps import Accept, Admission, Arrival, Death, RpcAnswer, Then
from fakes.point import Point
from wire.errors import RemoteWireError
from wire.hydra import RequestHead, Status
from wire.hydra_stream import FrameEnd, PayloadChunk, RequestDecoder

_READ_BYTES = 256 * 1024
_LINGER_RESET = struct.pack("ii", 1, 0)
_WAITS_S = {"STATE_GET": 30.0, "STATE_PUT": 30.0, "SWAP_QUANT": 30.0, "PREFILL": 180.0, "DECODE": 180.0}
_OTHER_WAIT_S = 5.0


class _Gone(Exception):
    """The connection has ended, by either side or by its own rules."""


class RpcServer:
    """All connections of one engine's RPC port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._workers = asyncio.Semaphore(engine.config.workers)
        self._n_open = 0
        self._n_seen = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self.ends: asyncio.Future[ProcessEnds] = asyncio.get_running_loop().create_future()

    async def listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._connected, host, port)

    def process_ends(self, why: ProcessEnds) -> None:
        """The first reason counts."""
        if not self.ends.done():
            self.ends.set_result(why)

    def cut_all(self) -> None:
        """Every connection is gone at once, in the middle of whatever it was."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._n_seen += 1
        step = self._engine.at(Point.ENGINE_ACCEPT, Accept(self._n_seen, idle_s=self._engine.config.idle_s))
        self._engine.journal.write("connected", connection=step.connection, arrival=step.arrival.value)
        self._writers.add(writer)
        try:
            await self._arrived(_Connection(self._engine, step, reader, writer), writer)
        except (_Gone, ConnectionError, TimeoutError):
            pass
        except ProcessEnds as why:
            self.process_ends(why)
        finally:
            self._writers.discard(writer)
            writer.close()
            self._engine.journal.write("disconnected", connection=step.connection)

    async def _arrived(self, connection: _Connection, writer: asyncio.StreamWriter) -> None:
        match connection.step.arrival:
            case Arrival.RESET:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
            case Arrival.IGNORE | Arrival.WAIT:
                await connection.ignore()
            case Arrival.SERVE if self._n_open < self._engine.config.workers + self._engine.config.waiting:
                await self._served(connection)

    async def _served(self, connection: _Connection) -> None:
        self._n_open += 1
        try:
            async with self._workers:
                await connection.serve()
        finally:
            self._n_open -= 1


@dataclass(slots=True)
class _Connection:
    """One connection, its requests strictly one after another."""

    engine: Engine
    step: Accept
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _decoder: RequestDecoder = field(default_factory=RequestDecoder)
    _events: deque[RequestHead | PayloadChunk | FrameEnd] = field(default_factory=deque)

    async def serve(self) -> None:
        while True:
            head = await self._event()
            assert isinstance(head, RequestHead)
            await self._request(head)

    async def ignore(self) -> None:
        """Whatever is sent is read and forgotten, until the peer has had enough."""
        while await self.reader.read(_READ_BYTES):
            pass

    async def _event(self) -> RequestHead | PayloadChunk | FrameEnd:
        while not self._events:
            async with asyncio.timeout(self.step.idle_s):
                data = await self.reader.read(_READ_BYTES)
            if not data:
                raise _Gone
            try:
                self._events += self._decoder.receive(data)
            except RemoteWireError:
                raise _Gone from None
        return self._events.popleft()

    async def _request(self, head: RequestHead) -> None:
        name, slot = op_name(head.op), head_slot(head)
        admission = self.engine.at(Point.ENGINE_ADMIT, Admission(name, slot))
        if admission.death is not Death.NO:
            raise ProcessEnds(admission.death, f"on {name}")
        await drive(self.engine.reach(Point.ENGINE_ADMIT))
        if not admission.answered:
            raise _Gone
        if admission.delay_s:
            await wait(admission.delay_s)
        digest = hashlib.sha256()
        outcome = await self._outcome(head, admission, digest)
        try:
            await self._answer(head, name, slot, outcome, digest.hexdigest())
        finally:
            if outcome.after is not None:
                outcome.after()
        if admission.then is Then.CLOSE or self._left_over(admission):
            raise _Gone

    def _left_over(self, admission: Admission) -> bool:
        """Payload that was not read would be taken for the next request, and is none."""
        return bool(not admission.drained or admission.kv_unread) and not self._decoder.idle

    async def _outcome(self, head: RequestHead, admission: Admission, digest: hashlib._Hash) -> Outcome:
        reads_all = admission.drained and not admission.kv_unread
        operation: Operation | None = None
        outcome: Outcome | None = None
        try:
            operation = begin(self.engine, head, admission)
        except Answered as answered:
            outcome = answered.outcome
        while outcome is None or reads_all:
            try:
                event = await self._event()
            except (_Gone, TimeoutError):
                if operation is not None and outcome is None:
                    operation.abandon()
                raise
            if isinstance(event, FrameEnd):
                break
            assert isinstance(event, PayloadChunk)
            digest.update(event.data)
            if operation is not None and outcome is None:
                try:
                    operation.receive(event.data)
                except Answered as answered:
                    outcome = answered.outcome
        if outcome is not None or operation is None:
            return outcome or Outcome(Status.ERROR)
        return await self._finished(operation, op_name(head.op))

    async def _finished(self, operation: Operation, name: str) -> Outcome:
        try:
            async with asyncio.timeout(_WAITS_S.get(name, _OTHER_WAIT_S)):
                return await drive(operation.finish())
        except Answered as answered:
            return answered.outcome
        except TimeoutError:
            operation.abandon()
            return Outcome(Status.ERROR)

    async def _answer(self, head: RequestHead, name: str, slot: int | None, outcome: Outcome, sent: str) -> None:
        honest = RpcAnswer(name, slot, outcome.status, outcome.meta, outcome.payload.size, behind=outcome.behind)
        step = self.engine.at(Point.ENGINE_ANSWER, honest)
        await drive(self.engine.reach(Point.ENGINE_ANSWER))
        digest = hashlib.sha256()
        n_written = await self._write(step, outcome.payload, digest)
        self.engine.journal.write(
            "rpc",
            connection=self.step.connection,
            op=name,
            key=head.key.decode(errors="replace"),
            slot=slot,
            trace=head.trace.decode(errors="replace"),
            payload_bytes=head.payload_len,
            payload_sha256=sent,
            status=step.status,
            answer_bytes=step.payload_bytes,
            answer_sha256=digest.hexdigest(),
            written=n_written,
        )
        if step.then is Then.STALL:
            await self.ignore()
        if step.then is not Then.NEXT:
            raise _Gone

    async def _write(self, step: RpcAnswer, payload: Payload, digest: hashlib._Hash) -> int:
        """How many bytes were written. The digest is of the payload as it went out."""
        left = step.stops_after
        n_written = 0
        for is_payload, chunk in _stretches(step, payload):
            data = chunk if left is None else chunk[:left]
            left = None if left is None else left - len(data)
            if is_payload:
                digest.update(data)
            size = step.piece_bytes or max(1, len(data))
            for at in range(0, len(data), size):
                self.writer.write(data[at : at + size])
                await self.writer.drain()
                if step.piece_bytes:
                    await wait(0.0)
            n_written += len(data)
            if left == 0:
                break
        return n_written


def _stretches(step: RpcAnswer, payload: Payload) -> Iterator[tuple[bool, bytes]]:
    """Head and meta, payload, and what nothing announced, in chunks."""
    meta = step.meta if isinstance(step.meta, bytes) else _encoded(step.meta)
    meta_len = len(meta) if step.meta_announced is None else step.meta_announced
    payload_len = step.payload_bytes if step.payload_announced is None else step.payload_announced
    yield False, bytes((step.status,)) + meta_len.to_bytes(3, "little") + payload_len.to_bytes(8, "little") + meta
    if step.payload_bytes:
        left = step.payload_bytes if step.payload_stops_after is None else step.payload_stops_after
        for chunk in payload.chunks():
            yield True, chunk[:left]
            left -= len(chunk[:left])
    if step.behind:
        yield False, step.behind


def _encoded(meta: object) -> bytes:
    return json.dumps(meta, separators=(",", ":")).encode() if meta else b""
