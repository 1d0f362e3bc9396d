"""Waits that add up to what was asked for, though a timer is coarse: what one was late, the next is early."""

from __future__ import annotations

import time
from collections.abc import Callable

LATE_S = 0.005
"""What is later than this is not made up for: whoever was held up does not hurry afterwards."""


class Waits:
    """One flow's waits, one after the other. `clock` is in seconds, and finer than the timers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = float("-inf")

    def delay(self, seconds: float) -> float:
        """What a timer has to be set to for a wait of `seconds` that begins now; 0 lets others have their turn."""
        if seconds <= 0:
            return 0.0
        now = self._clock()
        if now - self._due > LATE_S:
            self._due = now
        self._due += seconds
        return max(0.0, self._due - now)
