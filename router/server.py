"""The HTTP side: OpenAI's routes, keys, body limits, and every answer's form. What reaches a model goes to
`router.dispatch`; everything else is answered here, and an unknown route is never passed on.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
import traceback

from aiohttp import web
from aiohttp.web_request import BaseRequest

from router.config import Config
from router.deadline import Deadline
from router.decoders import Decoders, no_decoder
from router.dispatch import Dispatcher
from router.errors import DecoderError, NoAnswer, Refusal
from router.exchange import NO_REASON, SERVER, Ending, Exchange
from router.keys import KeyRing
from router.leases import RETRY_AFTER_S
from router.log import Log
from router.metrics import Metrics
from router.one_line import one_line
from router.relay import written
from router.request_body import Endpoint, read_request

JSON = "application/json"
HEALTH = ("/health", "/v1/health")
MODEL_ENDPOINTS = {str(endpoint): endpoint for endpoint in Endpoint}


class Front:
    """Answers requests. `draining`: no new ones."""

    def __init__(
        self, config: Config, keys: KeyRing, dispatcher: Dispatcher, decoders: Decoders, metrics: Metrics, log: Log
    ) -> None:
        self._config = config
        self._keys = keys
        self._dispatcher = dispatcher
        self._decoders = decoders
        self._metrics = metrics
        self._log = log
        self.draining = False
        self.in_flight = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self._serving: dict[asyncio.Task[object], Exchange] = {}

    def cut_all(self) -> None:
        """Ends every request that is being served; each tells its client why."""
        for task, exchange in self._serving.items():
            exchange.cut = True
            task.cancel()

    async def handle(self, client: BaseRequest) -> web.StreamResponse:
        """One request."""
        try:
            if client.path in HEALTH and client.method in ("GET", "HEAD"):
                return self._health()
            if not self._keys.admits(client.headers.get("Authorization"), client.headers.get("X-Api-Key")):
                raise Refusal(401, "authentication_error", "Invalid API Key")
            endpoint = MODEL_ENDPOINTS.get(client.path)
            if endpoint is not None and client.method == "POST":
                return await self._serve(endpoint, client)
            if client.path == "/v1/models" and client.method == "GET":
                return await self._models()
            if client.path == "/metrics" and client.method == "GET":
                headers = {"Content-Type": self._metrics.content_type, **SERVER}
                return web.Response(body=self._metrics.text(), headers=headers)
            raise Refusal(404, "not_found_error", "File Not Found")
        except Refusal as refusal:
            return refused(refusal)

    def _health(self) -> web.Response:
        if self.draining:
            return refused(_shutting_down())
        if not self._decoders.ready():
            return refused(Refusal(503, "unavailable_error", "Loading model", RETRY_AFTER_S))
        return web.Response(body=b'{"status":"ok"}', content_type=JSON, headers=SERVER)

    async def _models(self) -> web.Response:
        decoders = self._decoders.ready()
        if not decoders:
            raise no_decoder()
        try:
            answer = await decoders[0].client.models(self._config.timeouts.share)
        except DecoderError as error:
            raise Refusal(502, "server_error", f"the decoder did not answer: {error}") from None
        body = answer.body
        value = answer.json_object()
        if self._config.alias is not None and value is not None and answer.ok:
            body = json.dumps(_renamed(value, self._config.alias)).encode()
        return web.Response(status=answer.status, body=body, content_type=JSON, headers=SERVER)

    async def _serve(self, endpoint: Endpoint, client: BaseRequest) -> web.StreamResponse:
        """A request for a model, from its first byte to its one ending."""
        request_id = secrets.token_hex(8)
        log = self._log.for_request(request_id)
        exchange = Exchange(request_id, endpoint, log, Deadline(self._config.timeouts.request))
        self._enter(exchange)
        ending = Ending.BROKEN
        try:
            response = await self._reply(endpoint, client, exchange)
            ending = exchange.ending_to_be
            return response
        except (asyncio.CancelledError, ConnectionResetError):
            ending = Ending.CANCELLED
            raise
        except Exception as error:  # noqa: BLE001 -- the one place where a bug of ours becomes a 500 and a log line
            log.error(one_line("".join(traceback.format_exception(error)).encode(), 4000))
            exchange.status = 500
            if exchange.first_byte_ms is not None:
                # An answer has begun: a second one would be spliced into it.
                if client.transport is not None:
                    client.transport.abort()
                raise ConnectionResetError("an internal error after the answer had begun") from None
            ending = Ending.REFUSED
            return await self._send(client, refused(Refusal(500, "server_error", "internal error"), exchange))
        finally:
            exchange.finish(ending, self._metrics)
            self._leave()

    async def _reply(self, endpoint: Endpoint, client: BaseRequest, exchange: Exchange) -> web.StreamResponse:
        try:
            if self.draining:
                raise _shutting_down()
            raw = await self._body(client, exchange.deadline)
            exchange.started_ns = time.perf_counter_ns()
            response = await self._dispatcher.serve(read_request(endpoint, raw), client, exchange)
            return await self._send(client, response)
        except asyncio.CancelledError:
            if not exchange.cut or exchange.first_byte_ms is not None:
                raise
            exchange.ending_to_be = Ending.REFUSED
            return await self._send_refusal(client, _shutting_down(), exchange)
        except Refusal as refusal:
            exchange.ending_to_be = Ending.REFUSED
            return await self._send_refusal(client, refusal, exchange)
        except DecoderError as error:
            exchange.ending_to_be = Ending.DECODER_ERROR
            return await self._send_refusal(client, _no_answer(error), exchange)

    async def _send_refusal(self, client: BaseRequest, refusal: Refusal, exchange: Exchange) -> web.StreamResponse:
        exchange.status = refusal.status
        if exchange.reason == NO_REASON:
            exchange.reason = refusal.kind.replace("_", "-")
        return await self._send(client, refused(refusal, exchange))

    async def _send(self, client: BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
        """Writes what is not written yet, so that the request's end is said after its last byte."""
        if isinstance(response, web.Response):
            await response.prepare(client)
            await written(response.write_eof(), client, self._config.timeouts.stream)
        return response

    async def _body(self, client: BaseRequest, deadline: Deadline) -> bytes:
        """Refusal: 413 too large, 415 compressed, 408 too slow, 400 cut off."""
        limit = self._config.max_body
        encoding = client.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            # How large it is would be known only when it is too late.
            raise Refusal(415, "invalid_request_error", "a compressed request body is not taken: send it as it is")
        too_large = Refusal(413, "invalid_request_error", f"the request body is larger than {limit} bytes")
        if client.content_length is not None and client.content_length > limit:
            raise too_large
        try:
            if client.content.is_eof():
                raw = client.content.read_nowait()
            else:
                raw = await self._slow_body(client, limit, deadline)
        except TimeoutError:
            raise Refusal(408, "invalid_request_error", "the request body did not come") from None
        except (web.RequestPayloadError, web.PayloadAccessError) as error:
            raise Refusal(400, "invalid_request_error", f"the request body is broken: {error}") from None
        if len(raw) > limit:
            raise too_large
        return raw

    async def _slow_body(self, client: BaseRequest, limit: int, deadline: Deadline) -> bytes:
        """A body that is still on its way; what is beyond `limit` is not waited for."""
        parts: list[bytes] = []
        size = 0
        if client.headers.get("Expect", "").lower() == "100-continue" and client.transport is not None:
            client.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not client.content.at_eof() and size <= limit:
            async with asyncio.timeout(deadline.cut(self._config.timeouts.stream)):
                parts.append(await client.content.readany())
            size += len(parts[-1])
        return b"".join(parts)

    def _enter(self, exchange: Exchange) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = exchange
        self.in_flight += 1
        self.idle.clear()
        self._metrics.in_flight.inc()

    def _leave(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        del self._serving[task]
        self.in_flight -= 1
        self._metrics.in_flight.dec()
        if self.in_flight == 0:
            self.idle.set()


def _shutting_down() -> Refusal:
    return Refusal(503, "unavailable_error", "the router is shutting down", RETRY_AFTER_S)


def _no_answer(error: DecoderError) -> Refusal:
    status = 504 if isinstance(error, NoAnswer) else 502
    return Refusal(status, "server_error", f"the decoder did not answer: {error}")


def refused(refusal: Refusal, exchange: Exchange | None = None) -> web.Response:
    """A refusal as a response. The connection ends with it: its request's body may not have been read."""
    headers = {"Content-Type": JSON, **(exchange.headers() if exchange is not None else SERVER)}
    if refusal.retry_after_s is not None:
        headers["Retry-After"] = str(refusal.retry_after_s)
    response = web.Response(status=refusal.status, body=refusal.body(), headers=headers)
    response.force_close()
    return response


def _renamed(models: dict[str, object], alias: str) -> dict[str, object]:
    """The list of models under the operator's own name."""
    for key, name in (("data", "id"), ("models", "name")):
        entries = models.get(key)
        if isinstance(entries, list):
            models[key] = [{**entry, name: alias} for entry in entries if isinstance(entry, dict)]
    return models
