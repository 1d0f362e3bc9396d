"""The only waiting there is: for a named event, until a deadline.

Nobody else sleeps. What can be waited for as an event (a line, an exit, a reply) is awaited under `within`;
only the states that the kernel announces to nobody (a table in /proc, a port that opens) go through `until`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from harness.errors import DeadlineMissed

T = TypeVar("T")

_LOOK_AGAIN_S = 0.005
_LOOK_AGAIN_AT_MOST_S = 0.1


async def within(seconds: float, awaited: str, event: Awaitable[T], tail: Callable[[], str] = str) -> T:
    """What `event` gives. DeadlineMissed says what was waited for, with `tail()` as evidence."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await event
    except TimeoutError:
        if not limit.expired():
            raise
        raise DeadlineMissed(awaited, seconds, tail()) from None


async def until(
    seconds: float, awaited: str, holds: Callable[[], Awaitable[T | None]], tail: Callable[[], str] = str
) -> T:
    """What `holds` gives as soon as it is not None. It is asked at once, then ever less often."""
    return await within(seconds, awaited, _asked(holds), tail)


async def _asked(holds: Callable[[], Awaitable[T | None]]) -> T:
    pause = _LOOK_AGAIN_S
    while (found := await holds()) is None:
        await asyncio.sleep(pause)  # noqa: TID251 - the one place where it is allowed
        pause = min(pause * 2, _LOOK_AGAIN_AT_MOST_S)
    return found
