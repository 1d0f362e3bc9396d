"""The router from start to end: listens, brings decoders into service, drains on a signal, leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
from collections.abc import Coroutine
from typing import Any

from aiohttp import web

from router.config import Config, is_loopback
from router.deadline import happens
from router.errors import Refusal, StartError
from router.log import Log
from router.parts import Parts

CUT_GRACE_S = 2.0
IDLE_CONNECTION_S = 75.0
"""Of a client's connection: between requests, and from its opening to the end of its first head."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Lifecycle:
    """One run of the router."""

    def __init__(self, config: Config, parts: Parts, tls: ssl.SSLContext | None, log: Log) -> None:
        self._config = config
        self._parts = parts
        self._tls = tls
        self._log = log
        self._ending = asyncio.Event()
        """A signal came, or something failed that the router cannot go on without."""
        self._hurry = asyncio.Event()
        """A second signal came."""
        self._failure: Exception | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Serves until a signal comes. The exit status; StartError or Misfit: why it cannot go on."""
        self._take_signals()
        server = _quiet_server(self._parts)
        listener = await self._listen(server)
        try:
            self._start(self._say_when_ready(_address(self._config, listener)))
            for work in self._parts.lasting_work():
                self._start(work)
            await self._ending.wait()
            if self._failure is not None:
                raise self._failure
            return await self._drain(listener)
        finally:
            listener.close()
            await self._cut(server)

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._ending.is_set():
            self._hurry.set()
            return
        self._log.says(f"{signal.Signals(number).name}: draining, at most {self._config.timeouts.drain:g} s")
        self._ending.set()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_end_of_work)

    def _on_end_of_work(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and self._failure is None:
            self._failure = error
            self._ending.set()

    async def _listen(self, server: web.Server) -> asyncio.Server:
        host, port = self._config.host, self._config.port
        try:
            return await asyncio.get_running_loop().create_server(
                server, host, port, ssl=self._tls, backlog=1024, reuse_address=True
            )
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno is not None and error.errno > 0 else str(error)
            raise StartError(f"cannot listen on {host}:{port}: {reason}") from None

    async def _say_when_ready(self, address: str) -> None:
        if not is_loopback(self._config.host) and self._config.api_key_file is None:
            self._log.says(f"anybody who reaches {address} may use it: there is no --api-key-file")
        if self._config.has_provider and not self._config.cache_is_off:
            self._log.says(
                "handoffs are reported as unverified: a decoder's own --cache-ram may hold the prompt; "
                "where it is 0, say --decoder-cache-ram 0"
            )
        if not self._parts.decoders.ready():
            self._log.says(f"bound to {address}, waiting for a decoder")
        await self._parts.decoders.first_ready.wait()
        self._log.says(f"listening on {address}")

    async def _drain(self, listener: asyncio.Server) -> int:
        """0 when every request in flight was served to its end."""
        listener.close()
        front = self._parts.front
        front.draining = True
        drained = asyncio.create_task(happens(front.idle, self._config.timeouts.drain))
        hurried = asyncio.create_task(self._hurry.wait())
        await asyncio.wait({drained, hurried}, return_when=asyncio.FIRST_COMPLETED)
        for task in (drained, hurried):
            task.cancel()
        if front.idle.is_set():
            return 0
        self._log.says(f"{front.in_flight} requests are cut")
        return 1

    async def _cut(self, server: web.Server) -> None:
        """Ends whatever is still in flight, then every connection and every task of our own."""
        front = self._parts.front
        front.draining = True
        self._parts.leases.fail_waiting(Refusal(503, "unavailable_error", "the router is shutting down"))
        front.cut_all()
        await happens(front.idle, CUT_GRACE_S)
        await server.shutdown(0.1)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._parts.close(in_a_hurry=self._hurry.is_set())


def _quiet_server(parts: Parts) -> web.Server:
    """aiohttp's server without its own log: a client that speaks no HTTP is answered 400 and worth no traceback."""
    silent = logging.Logger("kvgate-router.http")
    silent.addHandler(logging.NullHandler())
    return web.Server(
        parts.front.handle,
        handler_cancellation=True,
        access_log=None,
        logger=silent,
        keepalive_timeout=IDLE_CONNECTION_S,
        lingering_time=2.0,
    )


def _address(config: Config, listener: asyncio.Server) -> str:
    host, port = listener.sockets[0].getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if config.tls is not None else 'http'}://{shown}:{port}"
