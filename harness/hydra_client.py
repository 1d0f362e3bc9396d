"""A client of an engine's RPC port: one request, one answer, one connection. What goes wrong is part of the answer.

One connection for each request, so that an answer which is out of step spoils nothing that comes after it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.errors import WireError
from wire.hydra import Op, RequestHead, ResponseHead, Status, encode_request_head, slot_key
from wire.hydra_stream import FrameEnd, PayloadChunk, ResponseDecoder

MOST_PAYLOAD_BYTES = 256 << 20
"""A scenario's state is kept in memory; this is far above what a test needs."""
_READ_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """`status` is None where there was no answer, and `failure` says why; `meta` is empty where it is no object."""

    status: int | None
    meta: Mapping[str, Any] = field(default_factory=dict)
    payload: bytes = b""
    failure: str = ""

    @property
    def word(self) -> str:
        """The status by its name; a number that has none as it is."""
        if self.status is None:
            return ""
        return Status(self.status).name if self.status in set(Status) else f"{self.status:#04x}"


@dataclass(frozen=True, slots=True)
class HydraClient:
    """Where the engine's RPC port is."""

    host: str
    port: int

    async def call(self, op: Op, slot: int, payload: bytes, trace: str, seconds: float) -> RpcAnswer:
        try:
            async with asyncio.timeout(seconds):
                return await self._asked(op, slot, payload, trace)
        except TimeoutError:
            return RpcAnswer(None, failure=f"no whole answer to {op.name} within {seconds:g} s")
        except OSError as error:
            return RpcAnswer(None, failure=f"the connection failed: {type(error).__name__}: {error}")
        except WireError as error:
            return RpcAnswer(None, failure=f"the answer's framing is broken: {error}")

    async def _asked(self, op: Op, slot: int, payload: bytes, trace: str) -> RpcAnswer:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(encode_request_head(RequestHead(op, slot_key(slot), trace.encode(), len(payload))))
            writer.write(payload)
            # An engine may answer, and stop reading, before all of it is sent.
            sending = asyncio.ensure_future(writer.drain())
            try:
                return await _answer(reader)
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
        finally:
            writer.close()


async def _answer(reader: asyncio.StreamReader) -> RpcAnswer:
    decoder = ResponseDecoder(max_payload_bytes=MOST_PAYLOAD_BYTES)
    head, payload = ResponseHead(0), bytearray()
    while data := await reader.read(_READ_BYTES):
        for event in decoder.receive(data):
            match event:
                case ResponseHead():
                    head = event
                case PayloadChunk(chunk):
                    payload += chunk
                case FrameEnd():
                    return RpcAnswer(head.status, read_object(head.meta), bytes(payload))
    decoder.close()
    raise ConnectionResetError("closed without an answer")


def read_object(text: bytes | str) -> Mapping[str, Any]:
    """A JSON object; empty where it is none."""
    try:
        value = json.loads(text or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
