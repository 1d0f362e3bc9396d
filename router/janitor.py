"""Brings slots in doubt back: their next call is an erase, and they stay nobody's until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Protocol

from router.deadline import happens
from router.decoder_client import Answer
from router.errors import DecoderError, Unreachable
from router.leases import Lease, Leases, remove
from router.log import Log
from router.one_line import one_line
from router.slots import Slot, State

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
NOT_SUPPORTED = 501


class Eraser(Protocol):
    """A decoder, as far as its slots are to be emptied."""

    @property
    def url(self) -> str: ...

    async def erase(self, slot: int, seconds: float) -> Answer: ...


class Janitor:
    """Erases in the background until it is answered 2xx, the decoder is gone, or the router ends."""

    def __init__(self, leases: Leases, log: Log, erase_s: float) -> None:
        self._leases = leases
        self._log = log
        self._erase_s = erase_s
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def clean(self, lease: Lease, decoder: Eraser) -> None:
        """Takes the slot from its owner until it is erased. Where only an abandoned reply may still run in it, its
        content is not in doubt, and a decoder without slot actions need not erase it."""
        content_in_doubt = lease.in_doubt
        slot = lease.quarantine()
        if slot is not None and slot.state is State.DOUBTFUL:
            self._start(self._erase_then_remove(slot, decoder, content_in_doubt, lease.files))
        else:
            remove(lease.files)

    async def close(self) -> None:
        """Whatever is still in doubt is the next router's to find out."""
        self._stop.set()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _erase_then_remove(self, slot: Slot, decoder: Eraser, content_in_doubt: bool, files: list[Path]) -> None:
        try:
            await self._erase(slot, decoder, content_in_doubt)
        finally:
            remove(files)

    async def _erase(self, slot: Slot, decoder: Eraser, content_in_doubt: bool) -> None:
        pause_s = FIRST_PAUSE_S
        while slot.state is State.DOUBTFUL:
            try:
                answer = await decoder.erase(slot.id, self._erase_s)
            except Unreachable:
                said = "no connection"
            except DecoderError as error:
                said = str(error)
            else:
                if answer.ok or (answer.status == NOT_SUPPORTED and not content_in_doubt):
                    self._leases.clear(slot)
                    return
                said = f"{answer.status}: {one_line(answer.body)}"
            self._log.says(f"slot {slot.id} of {decoder.url} stays unused until it is erased; erase: {said}")
            if await happens(self._stop, pause_s):
                return
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
