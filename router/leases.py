"""Leases: one owner for a slot from the first handoff step to the end of the reply, and the queue of those who wait.

First come, first served among those who may have the slot; bounded; a waiter that leaves is forgotten. A slot in
doubt comes back through `router.janitor` and not before.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from router.deadline import Deadline
from router.errors import Refusal
from router.slots import Move, Prompt, Slot, SlotTable, Where

RETRY_AFTER_S = 1


class Lease:
    """A slot held for one request. Given back exactly once; later calls do nothing."""

    def __init__(self, slot: Slot, give_back: Callable[[Slot, Move], None]) -> None:
        self.slot = slot
        self.in_doubt = False
        """Set before a call that may leave the slot's content unknown, unset when its answer settles it."""
        self.files: list[Path] = []
        """That a save of this slot may still write, however late: to be removed when nothing runs in the slot."""
        self._give_back: Callable[[Slot, Move], None] | None = give_back

    @property
    def held(self) -> bool:
        return self._give_back is not None

    def settled(self) -> None:
        """Whatever ran in the slot has ended, and it is empty."""
        self.in_doubt = False
        self.slot.holds = None
        remove(self.files)

    def release(self, holds: Prompt | None) -> None:
        """The slot is free for others; it holds `holds`, as far as that is known."""
        if self._give_back is None:
            return
        remove(self.files)
        give_back, self._give_back = self._give_back, None
        self.slot.holds = holds
        give_back(self.slot, Move.FREE)

    def quarantine(self) -> Slot | None:
        """The slot is nobody's until it is cleared. None: it was given back already."""
        if self._give_back is None:
            return None
        give_back, self._give_back = self._give_back, None
        give_back(self.slot, Move.DOUBT)
        return self.slot


def remove(files: list[Path]) -> None:
    while files:
        files.pop().unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, eq=False)
class Waiter:
    """One who waits, for a slot of any of the decoders `where`."""

    lease: asyncio.Future[Lease]
    prompt: Prompt | None
    where: Where


class Leases:
    """Hands out the slots of a table."""

    def __init__(self, table: SlotTable, max_queue: int) -> None:
        self.table = table
        self._max_queue = max_queue
        self._waiting: deque[Waiter] = deque()

    @property
    def n_waiting(self) -> int:
        return len(self._waiting)

    async def acquire(self, prompt: Prompt | None, deadline: Deadline, where: Where = None) -> Lease:
        """The best free slot, at once or after those who came before. Refusal 503: queue full or deadline passed.

        A slot that is free now is one that nobody who waits may have: who waits is served as soon as it comes free.
        """
        slot = self.table.choose(prompt, where)
        if slot is not None:
            return self._lease(slot)
        if len(self._waiting) >= self._max_queue:
            raise _busy(f"all slots are busy and {len(self._waiting)} requests wait already")
        waiter: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiter(waiter, prompt, where))
        try:
            async with asyncio.timeout(deadline.left()):
                return await waiter
        except BaseException as error:
            self._forget(waiter)
            if isinstance(error, TimeoutError):
                raise _busy("no slot became free before the request's deadline") from None
            raise

    def _forget(self, waiter: asyncio.Future[Lease]) -> None:
        """Takes a waiter out of the queue; a slot that came to it too late goes to the next."""
        self._waiting = deque(entry for entry in self._waiting if entry.lease is not waiter)
        if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
            lease = waiter.result()
            lease.release(lease.slot.holds)

    def clear(self, slot: Slot) -> None:
        """A slot in doubt was erased."""
        self._moved(slot, Move.CLEAR)

    def serve_waiting(self) -> None:
        """Slots came free or into service: those who wait longest get them."""
        still: deque[Waiter] = deque()
        for waiter in self._waiting:
            slot = None if waiter.lease.done() else self.table.choose(waiter.prompt, waiter.where)
            if slot is not None:
                waiter.lease.set_result(self._lease(slot))
            elif not waiter.lease.done():
                still.append(waiter)
        self._waiting = still

    def fail_waiting(self, refusal: Refusal) -> None:
        """Nobody who waits will be served any more."""
        self._fail(refusal, lambda _: True)

    def fail_stranded(self, refusal: Refusal) -> None:
        """Those whose decoders have all gone out of service will not be served by them."""
        in_service = frozenset(self.table.decoders)
        self._fail(refusal, lambda waiter: waiter.where is not None and not waiter.where & in_service)

    def _fail(self, refusal: Refusal, concerns: Callable[[Waiter], bool]) -> None:
        failed = [waiter for waiter in self._waiting if concerns(waiter)]
        self._waiting = deque(waiter for waiter in self._waiting if not concerns(waiter))
        for waiter in failed:
            if not waiter.lease.done():
                waiter.lease.set_exception(refusal)

    def _lease(self, slot: Slot) -> Lease:
        self.table.lease(slot)
        return Lease(slot, self._moved)

    def _moved(self, slot: Slot, move: Move) -> None:
        slot.move(move)
        self.serve_waiting()


def _busy(message: str) -> Refusal:
    return Refusal(503, "unavailable_error", message, retry_after_s=RETRY_AFTER_S)
