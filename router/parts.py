"""The router's parts, put together from its configuration, and taken apart again."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Coroutine, Iterator, Sequence
from itertools import count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from router.child_process import Children, child_environment
from router.config import Config
from router.decoder_client import DecoderClient
from router.decoders import Decoder, Decoders, wait_until_ready
from router.dispatch import Dispatcher
from router.errors import Misfit
from router.facts import Facts
from router.guard import Guard
from router.janitor import Janitor
from router.keys import KeyRing, read_keys
from router.leases import Leases
from router.log import Log
from router.metrics import Metrics
from router.private_files import Place, RuntimeFolder
from router.providers.command import CommandProvider
from router.providers.llama_server import LlamaServerProvider
from router.providers.provider import Provider
from router.routes.handoff import Surroundings
from router.server import Front
from router.slots import SlotTable, State
from router.supervise import Supervisor, decoder_command, free_port
from router.tls import client_context

if TYPE_CHECKING:
    from router.engines.engine import Engine
    from router.routes.engine import EngineSurroundings

UNBOUNDED = 1 << 16
"""Permits where the slots alone bound how many handoffs there are at a time."""


class Keys:
    """All keys that the router knows, read once."""

    def __init__(self, config: Config) -> None:
        self.clients = _keys("--api-key-file", config.api_key_file)
        self.decoder = _keys("--decoder-api-key-file", config.decoder_api_key_file)
        self.prefill = _keys("--prefill-api-key-file", config.prefill_api_key_file)

    @property
    def every(self) -> tuple[str, ...]:
        return self.clients + self.decoder + self.prefill


def _keys(flag: str, path: Path | None) -> tuple[str, ...]:
    return read_keys(flag, path) if path is not None else ()


class Parts:
    """Everything that a running router is made of. Made inside a running loop."""

    def __init__(self, config: Config, keys: Keys, log: Log) -> None:
        self._config = config
        self._log = log
        mark = secrets.token_hex(8)
        self._tls = client_context(config.decoder_ca) if config.decoder_ca is not None else None
        self._runtime = RuntimeFolder(mark)
        self._state_files = self._place_for_state_files(mark)
        patterns = [self._runtime.pattern] + ([self._state_files.pattern] if self._state_files is not None else [])
        self._guard = Guard(mark, patterns)
        self._guard.start()
        self._children = Children(child_environment(os.environ, mark, keys.every))
        self.metrics = Metrics()
        self.leases = Leases(SlotTable(), config.max_queue)
        self._janitor = Janitor(self.leases, log, config.timeouts.share)
        self._prefill_client: DecoderClient | None = None
        self._prefill_facts: Facts | None = None
        self._prefill_ready = asyncio.Event()
        self._provider = self._make_provider(keys)
        self._all_decoders, self._supervisor = self._make_decoders(keys)
        self.decoders = Decoders(self._all_decoders, self.leases, log, self.metrics, self._check)
        self._engines = self._engine_surroundings(keys)
        dispatcher = Dispatcher(
            config, self.decoders, self.leases, self._janitor, self.metrics, self._surroundings(), self._engines
        )
        self.front = Front(config, KeyRing(keys.clients), dispatcher, self.decoders, self.metrics, log)
        self._watch_gauges()

    def lasting_work(self) -> Iterator[Coroutine[Any, Any, None]]:
        """What runs as long as the router does."""
        if self._supervisor is not None:
            yield self._supervisor.keep_running()
        if self._prefill_client is not None:
            yield self._wait_for_prefill_server(self._prefill_client)
        if self._engines is not None:
            yield self._wait_for_prefill_engine(self._engines)
        for decoder in self._all_decoders:
            yield self._watch(decoder)

    async def close(self, *, in_a_hurry: bool) -> None:
        """Ends every child, closes every connection, removes every file."""
        await self._janitor.close()
        if self._engines is not None:
            await self._engines.janitor.close()
            self._engines.prefiller.http.close()
        if self._supervisor is not None and not in_a_hurry:
            await self._supervisor.stop()
        await self._children.kill_all()
        if self._provider is not None:
            await self._provider.close()
        for decoder in self._all_decoders:
            decoder.client.close()
        self._guard.dismiss()
        if self._state_files is not None:
            self._state_files.close()
        self._runtime.close()

    async def _watch(self, decoder: Decoder) -> None:
        """Misfit: the decoder does not fit the prefill server, which is asked first."""
        if self._prefill_client is not None or self._engines is not None:
            await self._prefill_ready.wait()
        await self.decoders.watch(decoder)

    async def _wait_for_prefill_server(self, client: DecoderClient) -> None:
        facts = await wait_until_ready(f"prefill server {client.url}", client, self._log)
        if not facts.serves_actions:
            raise Misfit(f"prefill server {client.url} serves no slot actions: start it with --slot-save-path")
        self._prefill_facts = facts
        assert isinstance(self._provider, LlamaServerProvider)
        self._provider.open(facts)
        self._prefill_ready.set()
        self._log.says(f"prefill server {client.url} is ready: {facts.n_slots} slots")

    async def _wait_for_prefill_engine(self, engines: EngineSurroundings) -> None:
        engine = engines.prefiller
        facts = await wait_until_ready(f"prefill engine {engine.url}", engine.http, self._log)
        engines.leases.table.add(0, facts.n_slots)
        self._prefill_ready.set()
        self._log.says(f"prefill engine {engine.url} is ready: {facts.n_slots} slots, RPC at {engine.address}")

    def _check(self, facts: Facts) -> None:
        """Misfit: the decoder and the prefill server cannot read each other's state files."""
        if self._prefill_facts is None:
            return
        difference = self._prefill_facts.difference(facts)
        if difference is not None:
            raise Misfit(f"prefill server and decoder do not fit together: {difference}")
        remark = self._prefill_facts.remark(facts)
        if remark is not None:
            self._log.says(remark)

    def _place_for_state_files(self, mark: str) -> Place | None:
        if not self._config.has_provider or not self._config.has_state_file:
            return None
        return Place(self._save_folder(), mark)

    def _save_folder(self) -> Path:
        """The operator's folder, or one of our own for a child decoder."""
        if self._config.slot_save_path is not None:
            return self._config.slot_save_path.resolve()
        folder = self._runtime.folder / "slots"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _make_provider(self, keys: Keys) -> Provider | None:
        if self._config.prefill_url is not None:
            self._prefill_client = DecoderClient(self._config.prefill_url, _first(keys.prefill), self._tls)
            return LlamaServerProvider(self._prefill_client)
        if self._config.provider:
            return CommandProvider(self._config.provider, self._children, self._log)
        return None

    def _make_decoders(self, keys: Keys) -> tuple[list[Decoder], Supervisor | None]:
        key, child = _first(keys.decoder), self._config.child
        if child is None:
            clients = [DecoderClient(url, key, self._tls) for url in self._config.decoders]
            return list(map(Decoder, count(), clients, self._receivers(clients) or repeat(None))), None
        port = free_port()
        decoder = Decoder(0, DecoderClient(f"http://127.0.0.1:{port}", key))
        command = decoder_command(
            child, port, self._save_folder(), self._config.alias, self._config.decoder_api_key_file
        )
        supervisor = Supervisor(
            decoder,
            command,
            self._children,
            self._log,
            self.metrics,
            lambda why: self.decoders.unreachable(decoder, why),
        )
        return [decoder], supervisor

    def _receivers(self, clients: Sequence[DecoderClient]) -> list[Engine]:
        """The RPC side of each decoder, where they are engines. Only then is that part of the router imported."""
        if not self._config.engine_decode:
            return []
        from router.engines.engine import engine_at

        seconds = self._config.timeouts.share
        return [engine_at(at, http, seconds) for at, http in zip(self._config.engine_decode, clients, strict=True)]

    def _surroundings(self) -> Surroundings | None:
        if self._provider is None:
            return None
        permits = asyncio.Semaphore(self._config.provider_concurrency or UNBOUNDED)
        return Surroundings(self._provider, permits, self._config.timeouts, self._runtime, self._state_files)

    def _engine_surroundings(self, keys: Keys) -> EngineSurroundings | None:
        config = self._config
        if config.engine_prefill is None or config.engine_prefill_url is None:
            return None
        from router.engines.engine import engine_at
        from router.routes.engine import EngineSurroundings

        http = DecoderClient(config.engine_prefill_url, _first(keys.prefill), self._tls)
        leases = Leases(SlotTable(), UNBOUNDED)
        janitor = Janitor(leases, self._log, config.timeouts.share)
        return EngineSurroundings(
            engine_at(config.engine_prefill, http, config.timeouts.share),
            leases,
            janitor,
            config.timeouts,
            self.metrics,
        )

    def _watch_gauges(self) -> None:
        table, watch = self.leases.table, self.metrics.watch
        watch("kvgate_queue_length", "Requests waiting for a slot.", lambda: self.leases.n_waiting)
        for state, text in (
            (State.FREE, "Slots that nobody holds."),
            (State.LEASED, "Slots held by a request."),
            (State.DOUBTFUL, "Slots that wait for an erase."),
        ):
            watch(f"kvgate_slots_{state.value}", text, lambda state=state: table.count(state))  # type: ignore[misc]


def _first(keys: tuple[str, ...]) -> str | None:
    return keys[0] if keys else None
