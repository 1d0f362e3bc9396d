"""Carries out what the engine's work waits for, on the event loop's own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fakes.effects import Await, ClientGone, Pause
from fakes.engine.work import T, Work
from fakes.waits import Waits


async def drive(work: Work[T]) -> T:
    """The result of `work`. When this task is cancelled where the work waits, the work is told that its client left."""
    waits = Waits()
    try:
        effect = next(work)
        while True:
            try:
                await _carried_out(effect, waits)
            except asyncio.CancelledError:
                _tell(work)
                raise
            effect = work.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result


def _tell(work: Work[T]) -> None:
    """A work that catches it may end or go on to wait; there is nobody left to wait with."""
    try:
        work.throw(ClientGone())
    except (StopIteration, ClientGone):
        return
    work.close()


async def wait(seconds: float) -> None:
    """Lets so much time of the event loop pass; 0 lets others have their turn."""
    await _carried_out(Pause(seconds), Waits())


async def _carried_out(effect: Await | Pause, waits: Waits) -> None:
    happened = asyncio.get_running_loop().create_future()

    def happen() -> None:
        if not happened.done():
            happened.set_result(None)

    match effect:
        case Await(signal):
            signal.on_set(happen)
        case Pause(seconds):
            asyncio.get_running_loop().call_later(waits.delay(seconds), happen)
    await happened


class Background:
    """Work that nobody waits for: it is kept until it ends, and its unexpected end is told to `on_error`."""

    def __init__(self, on_error: Callable[[BaseException], None]) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_error = on_error

    def spawn(self, work: Work[None]) -> asyncio.Task[None]:
        return self.start(drive(work))

    def start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def cancel_all(self) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)
