"""One engine: where it is, what it was found not to be able to do, and what it says of a slot.

What is remembered against an engine is forgotten after a while: it may have been replaced by another build.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from router.config import check_address
from router.deadline import Deadline, happens
from router.decoder_client import Answer, DecoderClient
from router.engines.rpc import Address, Session
from router.errors import DecoderError, NoAnswer, Unreachable
from wire.errors import RemoteWireError
from wire.hydra import Op
from wire.hydra_identity import Identity
from wire.hydra_meta import SlotMeta, decode_info, decode_slot_meta

MOST_LOOK_S = 5.0
"""As long as an engine itself waits for INFO and STATE_META."""
BACKOFF_S = (0.1, 0.5, 2.0)
"""Pauses before another try, each up to a quarter longer or shorter."""
REMEMBER_S = 60.0
MAX_SESSIONS = 4
"""An engine serves eight connections and lets others wait without a word: half of them are left to others."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Look:
    """What an engine says of itself and of a slot; a slot that could not be read is None."""

    merged: bool
    slot: SlotMeta | None

    @property
    def identity(self) -> Identity:
        return self.slot.identity if self.slot is not None else Identity()

    @property
    def busy(self) -> bool:
        return self.slot is not None and (self.slot.is_processing or self.slot.is_transferring)


def engine_at(address: str, http: DecoderClient, look_s: float) -> Engine:
    """The engine at HOST:PORT, with its HTTP side; it is given `look_s` to say something of itself."""
    return Engine(Address(*check_address("engine", address)), http, look_s, Random(secrets.randbits(64)))


class Engine:
    """An engine's RPC side beside its HTTP side."""

    def __init__(self, address: Address, http: DecoderClient, look_s: float, random: Random) -> None:
        self.address = address
        self.http = http
        self.look_s = min(look_s, MOST_LOOK_S)
        self._random = random
        self._permits = asyncio.Semaphore(MAX_SESSIONS)
        self._cannot: dict[Op, float] = {}

    @property
    def url(self) -> str:
        """As the janitor names it."""
        return self.http.url

    def can(self, op: Op) -> bool:
        return self._cannot.get(op, 0.0) <= asyncio.get_running_loop().time()

    def cannot(self, op: Op) -> None:
        """It was found not to speak `op`, whatever it said before."""
        self._cannot[op] = asyncio.get_running_loop().time() + REMEMBER_S

    @asynccontextmanager
    async def session(self, trace: str, deadline: Deadline) -> AsyncIterator[Session]:
        """NoAnswer: no connection became free in time."""
        try:
            async with asyncio.timeout(deadline.left()):
                await self._permits.acquire()
        except TimeoutError:
            raise NoAnswer("all connections to it are in use") from None
        session = Session(self.address, trace)
        try:
            yield session
        finally:
            session.close()
            self._permits.release()

    async def connect(self, session: Session, deadline: Deadline) -> None:
        """Makes the session's connection, in several tries. Unreachable: the last one failed too."""

        async def once() -> bool:
            await session.connection(deadline.left())
            return True

        await self.patiently(once, deadline, on=Unreachable)

    async def patiently(
        self, once: Callable[[], Awaitable[T | None]], deadline: Deadline, on: type[DecoderError] | tuple[()] = ()
    ) -> T | None:
        """`once` until it has something, with pauses between; None, or its last error, when the tries are used up."""
        for pause_s in BACKOFF_S:
            try:
                found = await once()
            except on:
                found = None
            if found is not None:
                return found
            await happens(asyncio.Event(), deadline.cut(pause_s * self._random.uniform(0.75, 1.25)))
        return await once()

    async def look(self, session: Session, slot: int, deadline: Deadline, *, info: bool = True) -> Look:
        """INFO and STATE_META. Unreachable: no connection; whatever else goes wrong leaves things unknown."""
        merged = info and self.can(Op.DECODE) and await self._merged(session, deadline)
        try:
            answer = await session.call(Op.STATE_META, slot, deadline.cut(self.look_s))
            return Look(merged, decode_slot_meta(answer.meta) if answer.ok else None)
        except Unreachable:
            raise
        except (DecoderError, RemoteWireError):
            return Look(merged, None)

    async def _merged(self, session: Session, deadline: Deadline) -> bool:
        try:
            answer = await session.call(Op.INFO, 0, deadline.cut(self.look_s))
            return answer.ok and decode_info(answer.meta).merged_decode
        except Unreachable:
            raise
        except (DecoderError, RemoteWireError):
            return False

    async def erase(self, slot: int, seconds: float) -> Answer:
        """Empties a slot. An engine without a folder for slot files cannot: there it is enough that the slot is idle,
        since state that is put into it replaces what it held."""
        answer = await self.http.erase(slot, seconds)
        if answer.status not in (404, 501):
            return answer
        deadline = Deadline(seconds)
        async with self.session("erase", deadline) as session:
            look = await self.look(session, slot, deadline, info=False)
        idle = look.slot is not None and not look.busy
        return Answer(200 if idle else 503, {}, b"" if idle else b"the slot is not idle")
