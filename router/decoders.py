"""The decoders in service, and the evidence on which they come and go.

A decoder comes into service when it is healthy, tells its facts and answers on the path that does the work. It leaves
on evidence about itself alone: no connection, its process ended, another identity behind its address, or work that is
not answered while `/health` is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from router.deadline import happens
from router.decoder_client import DecoderClient
from router.errors import DecoderGone, Refusal
from router.facts import Facts, read_facts, read_properties, what_fails
from router.leases import RETRY_AFTER_S, Leases
from router.log import Log
from router.metrics import Metrics
from router.own_state import OwnState
from router.routes.choose import Outcome, Step, failed

if TYPE_CHECKING:
    from router.engines.engine import Engine

POLL_S = 0.02
SLOWEST_POLL_S = 1.0
SAY_AFTER_S = 1.0
"""Why a server is not ready is said when it has lasted so long."""
IDENTITY_POLL_S = 2.0


class Decoder:
    """One decoder: its client, and what is known of it while it is in service."""

    def __init__(self, index: int, client: DecoderClient, engine: Engine | None = None) -> None:
        self.index = index
        self.client = client
        self.engine = engine
        """Its RPC side, where it has one."""
        self.facts: Facts | None = None
        self.ever_ready = False
        self.first_facts: Facts | None = None
        """Of the first time that it came into service."""
        self.own_state = OwnState()
        """What is known of its state files since it came into service."""
        self.suspected = asyncio.Event()
        """Set on evidence that it may be gone."""
        self.why = ""
        self._left = asyncio.Event()
        """Set when it goes out of service."""
        client.on_idle_closed(lambda: self.suspect("it closed a connection that nobody used"))

    @property
    def ready(self) -> bool:
        return self.facts is not None

    @property
    def change(self) -> str | None:
        """Why the one that answers now need not be what the router was set up for."""
        if self.facts is None or self.first_facts is None:
            return None
        return self.first_facts.change(self.facts)

    @property
    def takes_handoffs(self) -> bool:
        """An engine's RPC side does not depend on the slot actions."""
        return self.facts is not None and (self.engine is not None or self.facts.serves_actions)

    def suspect(self, why: str) -> None:
        """Something happened to it: it is looked at."""
        self.why = why
        self.suspected.set()

    def enters(self, facts: Facts) -> None:
        self.facts, self.why, self.ever_ready = facts, "", True
        self.first_facts = self.first_facts or facts
        self.own_state = OwnState()
        self.suspected.clear()
        self._left.clear()

    def leaves(self) -> None:
        self.facts = None
        self._left.set()

    async def while_in_service(self, handing_over: Coroutine[Any, Any, None]) -> None:
        """A handoff to this decoder, ended at once when there is nobody left to hand over to. StepFailed: it was."""
        work, leaving = asyncio.create_task(handing_over), asyncio.create_task(self._left.wait())
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, work):
                task.cancel()
            await asyncio.wait({work})
        if work.cancelled():
            raise failed(Step.PROVIDER, Outcome.UNREACHABLE, reason=self.why)
        work.result()


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
            facts = await wait_until_ready(f"decoder {decoder.client.url}", decoder.client, self._log)
            self._check(facts)
            self._enter(decoder, facts)
            await self._until_it_leaves(decoder, facts)
            self._leave(decoder)

    def _enter(self, decoder: Decoder, facts: Facts) -> None:
        decoder.enters(facts)
        self._leases.table.add(decoder.index, facts.n_slots)
        self._metrics.decoder_ready.labels(decoder.client.url).set(1)
        actions = "" if decoder.takes_handoffs else ", no slot actions: nothing can be handed over to it"
        self._log.says(f"decoder {decoder.client.url} is ready: {facts.n_slots} slots{actions}")
        self.first_ready.set()
        self._leases.serve_waiting()

    async def _until_it_leaves(self, decoder: Decoder, facts: Facts) -> None:
        while decoder.ready:
            if await happens(decoder.suspected, IDENTITY_POLL_S):
                decoder.suspected.clear()
                if decoder.ready and (failing := await what_fails(decoder.client)):
                    decoder.why = f"{decoder.why}; then {failing}"
                    return
                decoder.why = ""
            now = await read_properties(decoder.client)
            if isinstance(now, str):
                decoder.why = decoder.why or now
                return
            if not facts.is_still(now):
                decoder.why = "another decoder answers behind its address"
                return

    def _leave(self, decoder: Decoder) -> None:
        """Those who wait are told at once where nobody is left to serve them."""
        if not decoder.ready:
            return
        self._log.says(f"decoder {decoder.client.url} is out of service: {decoder.why}")
        decoder.leaves()
        self._metrics.decoder_ready.labels(decoder.client.url).set(0)
        self._leases.table.drop(decoder.index)
        if not self.ready():
            self._leases.fail_waiting(no_decoder())
        self._leases.fail_stranded(
            DecoderGone(503, "unavailable_error", "the decoder went out of service", RETRY_AFTER_S)
        )


async def wait_until_ready(name: str, client: DecoderClient, log: Log) -> Facts:
    """The server's facts, once it is ready. What keeps it from that is said once for each reason."""
    loop, never = asyncio.get_running_loop(), asyncio.Event()
    started_at, pause_s, said = loop.time(), POLL_S, ""
    while isinstance(facts := await read_facts(client), str):
        if facts != said and loop.time() - started_at > SAY_AFTER_S:
            said = facts
            log.says(f"{name} is not ready: {facts}")
        await happens(never, pause_s)
        pause_s = min(pause_s * 1.5, SLOWEST_POLL_S)
    return facts


def no_decoder() -> Refusal:
    return Refusal(503, "unavailable_error", "no decoder is ready", RETRY_AFTER_S)
