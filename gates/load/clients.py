"""The clients: each asks, reads its reply to the end or leaves, and asks the reference the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

import aiohttp

from gates.load.work import Work
from harness.clients import ask
from harness.record import Reply

DEADLINE_S = 30.0
"""Of one request, from its first byte to its last. Nothing in a campaign takes so long."""


class Outcome(Enum):
    """What a client can say of its request."""

    SERVED = "served"
    REFUSED = "refused"
    """Answered with an error."""
    BROKEN = "broken"
    """Begun, and said or seen to be unfinished."""
    LEFT = "left"
    """The client did not wait."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as its client saw it. `expected`: the reference's text, where the reply is to be compared."""

    work: Work
    outcome: Outcome
    reply: Reply | None = None
    expected: str = ""

    @property
    def request_id(self) -> str | None:
        return self.reply.headers.get("x-request-id") if self.reply is not None else None

    @property
    def says(self) -> str:
        """What was wrong, as the client was told."""
        reply = self.reply
        return "" if reply is None else f"{reply.status} {reply.error or reply.failure}"


async def load(
    url: str, reference: str, works: Iterator[Work], clients: int, after: Callable[[Seen], None]
) -> list[Seen]:
    """Every request once, `clients` at a time. `after` is told each as it ends."""
    seen: list[Seen] = []

    async def client() -> None:
        # The reference closes what has idled for 5 s, so that a connection to it is used once.
        fresh = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession() as http, aiohttp.ClientSession(connector=fresh) as plain:
            for work in works:
                one = await _one(http, url, plain, reference, work)
                seen.append(one)
                after(one)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    return seen


async def _one(http: aiohttp.ClientSession, url: str, fresh: aiohttp.ClientSession, reference: str, work: Work) -> Seen:
    try:
        async with asyncio.timeout(work.patience_s):
            reply = await ask(http, url + work.path, work.body, DEADLINE_S)
    except TimeoutError:
        return Seen(work, Outcome.LEFT)
    if reply.failure or (reply.error and reply.status == 200):
        return Seen(work, Outcome.BROKEN, reply)
    if reply.status != 200:
        return Seen(work, Outcome.REFUSED, reply)
    plain = await ask(fresh, reference + work.path, work.plain_body, DEADLINE_S)
    if plain.failure or plain.status != 200:
        raise RuntimeError(f"the reference answered {plain.status} {plain.error or plain.failure}")
    return Seen(work, Outcome.SERVED, reply, plain.text)
