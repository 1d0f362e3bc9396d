"""Deadlines on the loop's clock, and the only way to wait for time to pass: for an event, at most so long."""

from __future__ import annotations

import asyncio


class Deadline:
    """A point in time that everything done for one request must respect."""

    def __init__(self, seconds: float) -> None:
        self._at = asyncio.get_running_loop().time() + seconds

    def left(self) -> float:
        """Seconds that are left; 0 when it has passed."""
        return max(0.0, self._at - asyncio.get_running_loop().time())

    def cut(self, seconds: float) -> float:
        """`seconds`, or what is left if that is less."""
        return min(seconds, self.left())


async def happens(event: asyncio.Event, seconds: float) -> bool:
    """Whether `event` is set within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
