"""Brings a decoder's reply to the client: whole, or byte by byte as it streams.

Nothing goes out before an answer has begun. What the decoder did not finish is never ended like something finished.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web
from aiohttp.web_request import BaseRequest

from router.config import Timeouts
from router.deadline import Deadline
from router.decoder_client import Upstream
from router.errors import CutOff, DecoderError, NoAnswer, error_body
from router.exchange import Ending, Exchange
from router.proof import Timings, Use, read_timings
from router.stream_watch import DoneHeldBack, StreamWatch
from wire.sse import encode_event

_PASSED_ON = {"content-type": "Content-Type", "retry-after": "Retry-After"}
EVENT_STREAM = "text/event-stream"

Judge = Callable[[Timings | None], Use | None]
"""Told the counters of a reply that has ended, says what became of the handoff, if there was one."""


async def relay(
    upstream: Upstream,
    client: BaseRequest,
    exchange: Exchange,
    first_byte: Deadline,
    timeouts: Timeouts,
    judge: Judge,
    *,
    strict: bool,
) -> web.StreamResponse:
    """The client's response, sent or ready to be sent. DecoderError: no answer had begun when it broke."""
    exchange.status = upstream.status
    if upstream.headers.get("content-type", "").startswith(EVENT_STREAM) and upstream.status < 400:
        return await _Stream(upstream, client, exchange, timeouts, judge, strict).run(first_byte)
    body = await upstream.rest(first_byte.left())
    return _whole(upstream, body, exchange, judge, strict)


def _whole(upstream: Upstream, body: bytes, exchange: Exchange, judge: Judge, strict: bool) -> web.Response:
    if upstream.status >= 400:
        exchange.ending_to_be = Ending.DECODER_ERROR
        return web.Response(status=upstream.status, body=body, headers=_headers(upstream, exchange))
    exchange.timings = read_timings(body)
    use = exchange.use = judge(exchange.timings)
    if strict and use is Use.LOST:
        exchange.status = 502
        exchange.ending_to_be = Ending.REFUSED
        lost = error_body(502, "server_error", "the handed-over KV was not used by the decoder (--strict)")
        headers = {**_headers(upstream, exchange), "Content-Type": "application/json", "X-KVGate-Handoff": use}
        return web.Response(status=502, body=lost, headers=headers)
    headers = _headers(upstream, exchange)
    if use is not None:
        headers["X-KVGate-Handoff"] = use
    exchange.first_byte_is_out()
    return web.Response(status=upstream.status, body=body, headers=headers)


def _headers(upstream: Upstream, exchange: Exchange) -> dict[str, str]:
    passed = {shown: upstream.headers[name] for name, shown in _PASSED_ON.items() if name in upstream.headers}
    return {**passed, **exchange.headers()}


async def written(writing: Coroutine[Any, Any, None], client: BaseRequest, seconds: float) -> None:
    """Waits until the client has taken what is written. ConnectionResetError: it did not, and is given up.

    A client that does not read is given as long as a decoder that does not write.
    """
    try:
        async with asyncio.timeout(seconds):
            await writing
    except TimeoutError:
        if client.transport is not None:
            client.transport.abort()
        raise ConnectionResetError("the client does not read") from None


class _Stream:
    """One streamed reply."""

    def __init__(
        self,
        upstream: Upstream,
        client: BaseRequest,
        exchange: Exchange,
        timeouts: Timeouts,
        judge: Judge,
        strict: bool,
    ) -> None:
        self._upstream = upstream
        self._client = client
        self._exchange = exchange
        self._timeouts = timeouts
        self._judge = judge
        self._watch = StreamWatch()
        self._held = DoneHeldBack() if strict else None

    async def run(self, first_byte: Deadline) -> web.StreamResponse:
        begun = await self._until_begun(first_byte)
        if self._watch.error is not None and self._watch.n_events == 1:
            return self._error_instead()
        response = web.StreamResponse(status=self._upstream.status, headers=_headers(self._upstream, self._exchange))
        response.headers["X-Accel-Buffering"] = "no"
        await response.prepare(self._client)
        await self._write(response, begun)
        self._exchange.first_byte_is_out()
        try:
            while chunk := await self._next():
                await self._write(response, chunk)
        except DecoderError as error:
            return await self._break_off(response, str(error))
        except asyncio.CancelledError:
            if not self._exchange.cut:
                raise
            return await self._break(response, "the router is shutting down")
        return await self._end(response)

    async def _until_begun(self, first_byte: Deadline) -> bytes:
        """Everything up to the first event. Pings that come before it wait here."""
        begun = b""
        while not self._watch.begun:
            chunk = await self._upstream.chunk(first_byte.left())
            if not chunk:
                raise CutOff("the stream ended before its first event")
            self._watch.receive(chunk)
            begun += chunk
        return begun

    async def _next(self) -> bytes:
        seconds = self._exchange.deadline.cut(self._timeouts.stream)
        try:
            chunk = await self._upstream.chunk(seconds)
        except NoAnswer:
            raise NoAnswer(f"the stream was silent for {seconds:g} s") from None
        self._watch.receive(chunk)
        return chunk

    async def _write(self, response: web.StreamResponse, chunk: bytes) -> None:
        data = self._held.receive(chunk) if self._held is not None else chunk
        if data:
            await self._out(response.write(data))

    async def _out(self, writing: Coroutine[Any, Any, None]) -> None:
        await written(writing, self._client, self._exchange.deadline.cut(self._timeouts.stream))

    async def _end(self, response: web.StreamResponse) -> web.StreamResponse:
        self._exchange.timings = self._watch.timings()
        use = self._exchange.use = self._judge(self._exchange.timings)
        if not self._watch.finished:
            return await self._break_off(response, "the decoder ended its stream before the end mark")
        if self._watch.error is not None:
            self._exchange.ending_to_be = Ending.DECODER_ERROR
        if self._held is not None:
            if use is Use.LOST:
                return await self._break(response, "the handed-over KV was not used by the decoder (--strict)")
            await self._out(response.write(self._held.held))
        await self._out(response.write_eof())
        return response

    async def _break_off(self, response: web.StreamResponse, why: str) -> web.StreamResponse:
        """It is the decoder that left off."""
        self._exchange.broken_off = why
        return await self._break(response, why)

    async def _break(self, response: web.StreamResponse, why: str) -> web.StreamResponse:
        """Says why in the stream, then ends the connection without the transfer's end."""
        self._exchange.ending_to_be = Ending.BROKEN
        frame = encode_event(error_body(502, "server_error", why))
        # A cut event must not swallow the frame.
        lead = b"\n\n" if self._watch.in_event else b""
        if self._client.transport is not None:
            await self._out(response.write(lead + frame))
            self._client.transport.close()
        return response

    def _error_instead(self) -> web.Response:
        """The stream's first event is an error: nothing has gone out yet, so the client gets it as a status."""
        status = self._watch.error_status()
        self._exchange.status = status
        self._exchange.ending_to_be = Ending.DECODER_ERROR
        body = self._watch.error or json.dumps({}).encode()
        headers = {**_headers(self._upstream, self._exchange), "Content-Type": "application/json"}
        return web.Response(status=status, body=body, headers=headers)
