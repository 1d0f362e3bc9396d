"""The decoders in service: what each said of itself when it came up, and whether it is still the one that said it.

A decoder comes into service when it answers `/health` and `/props`, and leaves it on evidence about itself alone: no
connection, its process ended, another identity behind its address, or work that is not answered while `/health` is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from router.deadline import happens
from router.decoder_client import Answer, DecoderClient
from router.errors import DecoderError, Refusal
from router.leases import RETRY_AFTER_S, Leases
from router.log import Log
from router.metrics import Metrics

POLL_S = 0.02
SLOWEST_POLL_S = 1.0
CALL_S = 5.0
IDENTITY_POLL_S = 2.0
SHAPE = ("vocab_type", "n_vocab", "n_embd", "n_params", "size", "ftype")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decoder said of itself."""

    n_slots: int
    n_ctx: int | None
    model: str | None
    build: str | None
    start_mark: str | None
    """Differs from start to start, where the decoder says such a thing."""
    serves_actions: bool = True
    shape: tuple[tuple[str, object], ...] = ()
    """What is told of the model itself: sizes, vocabulary, quantisation."""

    @property
    def n_streams(self) -> int:
        """As a server that was started with an explicit number of slots lays its cache out."""
        return self.n_slots

    def difference(self, other: Facts) -> str | None:
        """Why a state file of one does not fit the other, as far as they say; None where nothing speaks against it."""
        if self.n_slots != other.n_slots:
            return f"{self.n_slots} slots and {other.n_slots}"
        for name, mine in self.shape:
            theirs = dict(other.shape).get(name)
            if theirs is not None and theirs != mine:
                return f"the models differ in {name}: {mine} and {theirs}"
        return None


class Decoder:
    """One decoder: its client, and what is known of it while it is in service."""

    def __init__(self, index: int, client: DecoderClient) -> None:
        self.index = index
        self.client = client
        self.facts: Facts | None = None
        self.ever_ready = False
        self.suspected = asyncio.Event()
        """Set on evidence that it may be gone."""
        self.why = ""

    @property
    def ready(self) -> bool:
        return self.facts is not None

    def suspect(self, why: str) -> None:
        """Something happened to it: it is looked at before it gets another request."""
        self.why = why
        self.suspected.set()


class Decoders:
    """All decoders, and the tasks that watch them."""

    def __init__(
        self, decoders: list[Decoder], leases: Leases, log: Log, metrics: Metrics, check: Callable[[Facts], None]
    ) -> None:
        self._all = decoders
        self._leases = leases
        self._log = log
        self._metrics = metrics
        self._check = check
        self.first_ready = asyncio.Event()

    def __getitem__(self, index: int) -> Decoder:
        return self._all[index]

    def __len__(self) -> int:
        return len(self._all)

    def ready(self) -> list[Decoder]:
        return [decoder for decoder in self._all if decoder.ready]

    def unreachable(self, decoder: Decoder, why: str) -> None:
        """It refuses connections: no other request is sent to it until it answers again."""
        decoder.suspect(why)
        self._leave(decoder)

    async def watch(self, decoder: Decoder) -> None:
        """Brings the decoder into service whenever it answers, and takes it out when it does not. Never ends.
        Misfit: this router cannot work with it."""
        while True:
            facts = await self._wait_until_ready(decoder)
            self._check(facts)
            self._enter(decoder, facts)
            await self._until_it_leaves(decoder, facts)
            self._leave(decoder)
            decoder.why = ""

    async def _wait_until_ready(self, decoder: Decoder) -> Facts:
        pause_s, never = POLL_S, asyncio.Event()
        while True:
            facts = await maybe_facts(decoder.client)
            if facts is not None and await _works(decoder.client):
                return facts
            await happens(never, pause_s)
            pause_s = min(pause_s * 1.5, SLOWEST_POLL_S)

    def _enter(self, decoder: Decoder, facts: Facts) -> None:
        decoder.facts = facts
        decoder.ever_ready = True
        decoder.suspected.clear()
        self._leases.table.add(decoder.index, facts.n_slots)
        self._metrics.decoder_ready.labels(decoder.client.url).set(1)
        actions = "" if facts.serves_actions else ", no slot actions: nothing can be handed over to it"
        self._log.says(f"decoder {decoder.client.url} is ready: {facts.n_slots} slots{actions}")
        self.first_ready.set()
        self._leases.serve_waiting()

    async def _until_it_leaves(self, decoder: Decoder, facts: Facts) -> None:
        while True:
            suspected = await happens(decoder.suspected, IDENTITY_POLL_S)
            if not decoder.ready:
                return
            if suspected and not await self._is_cleared(decoder):
                return
            now = await maybe_facts(decoder.client)
            if now is None:
                decoder.why = decoder.why or "/health or /props is not answered"
                return
            if now != facts:
                decoder.why = "another decoder answers behind its address"
                return

    async def _is_cleared(self, decoder: Decoder) -> bool:
        """Whether a suspicion came to nothing: it still does work."""
        decoder.suspected.clear()
        if await _works(decoder.client):
            decoder.why = ""
            return True
        decoder.why = decoder.why or "/slots is not answered"
        return False

    def _leave(self, decoder: Decoder) -> None:
        """Those who wait are told at once where nobody is left to serve them."""
        if not decoder.ready:
            return
        self._log.says(f"decoder {decoder.client.url} is out of service: {decoder.why}")
        decoder.facts = None
        self._metrics.decoder_ready.labels(decoder.client.url).set(0)
        self._leases.table.drop(decoder.index)
        if not self.ready():
            self._leases.fail_waiting(no_decoder())


def no_decoder() -> Refusal:
    return Refusal(503, "unavailable_error", "no decoder is ready", RETRY_AFTER_S)


async def maybe_facts(client: DecoderClient) -> Facts | None:
    """What the server says of itself, if it is healthy."""
    try:
        if not (await client.health(CALL_S)).ok:
            return None
        props = await client.props(CALL_S)
        models = await client.models(CALL_S)
        actions = await client.no_action(CALL_S)
    except DecoderError:
        return None
    return _facts(props, models, actions)


def _facts(props: Answer, models: Answer, actions: Answer) -> Facts | None:
    value: dict[str, Any] | None = props.json_object() if props.ok else None
    if value is None:
        return None
    n_slots, settings = value.get("total_slots"), value.get("default_generation_settings")
    if type(n_slots) is not int or n_slots < 1:
        return None
    n_ctx = settings.get("n_ctx") if isinstance(settings, dict) else None
    return Facts(
        n_slots=n_slots,
        n_ctx=n_ctx if type(n_ctx) is int and n_ctx > 0 else None,
        model=_maybe_text(value.get("model_path")),
        build=_maybe_text(value.get("build_info")),
        start_mark=_maybe_text(value.get("media_marker")),
        serves_actions=actions.status != 501,
        shape=_shape(models.json_object() or {}),
    )


def _shape(models: dict[str, Any]) -> tuple[tuple[str, object], ...]:
    entries = models.get("data")
    first = entries[0] if isinstance(entries, list) and entries else None
    meta = first.get("meta") if isinstance(first, dict) else None
    if not isinstance(meta, dict):
        return ()
    return tuple((name, meta[name]) for name in SHAPE if meta.get(name) is not None)


def _maybe_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


async def _works(client: DecoderClient) -> bool:
    """Whether the path that does the work answers: `/slots` goes through the queue of tasks, `/health` does not."""
    try:
        await client.slots(CALL_S)
    except DecoderError:
        return False
    return True
