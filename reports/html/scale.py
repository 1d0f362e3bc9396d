"""Where moments lie on a drawn time axis, in parts of its width.

The axis is linear, but a silence that would squeeze everything else to a line (a timeout of 30 s around steps
of milliseconds) is drawn short and marked as a break.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

_BROKEN_ABOVE = 12.0
_DRAWN_AS = 0.5
_NICE = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Break:
    """A silence that is drawn short: from and to, in ns and as parts of the width."""

    start_ns: int
    end_ns: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Moments in ascending order and where each is drawn; between two of them the axis is linear."""

    moments: tuple[int, ...]
    places: tuple[float, ...]
    breaks: tuple[Break, ...]

    def at(self, t_ns: int) -> float:
        """0.0 at the first moment, 1.0 at the last; what lies outside is put on the edge."""
        if len(self.moments) < 2 or t_ns <= self.moments[0]:
            return 0.0
        if t_ns >= self.moments[-1]:
            return 1.0
        right = bisect_right(self.moments, t_ns)
        start, end = self.moments[right - 1], self.moments[right]
        part = (t_ns - start) / (end - start)
        return self.places[right - 1] + part * (self.places[right] - self.places[right - 1])

    def ticks(self, most: int = 6) -> list[tuple[float, int]]:
        """Place and ns since the start of round moments, none inside a break, and of the ends of each break."""
        if len(self.moments) < 2:
            return []
        first = self.moments[0]
        unbroken = self.moments[-1] - first - sum(b.end_ns - b.start_ns for b in self.breaks)
        step = _nice_step(unbroken / most)
        rounds = [] if self.breaks else range(first, self.moments[-1] + 1, step)
        ends = [moment for b in self.breaks for moment in (b.start_ns, b.end_ns)]
        return [(self.at(moment), moment - first) for moment in sorted({*rounds, *ends, first})]


def scale_of(moments: Iterable[int]) -> Scale:
    points = tuple(sorted(set(moments)))
    gaps = [end - start for start, end in pairwise(points)]
    drawn = _drawn(gaps)
    whole = sum(drawn)
    places = tuple(min(1.0, place / whole) for place in accumulate(drawn, initial=0.0)) if whole else (0.0,)
    breaks = tuple(
        Break(points[i], points[i + 1], places[i], places[i + 1]) for i, gap in enumerate(gaps) if drawn[i] < gap
    )
    return Scale(points, places, breaks)


def _drawn(gaps: list[int]) -> list[float]:
    """The length each gap is drawn with: its own, or a part of all shorter ones' where it dwarfs them."""
    drawn: list[float] = [float(gap) for gap in gaps]
    shorter = 0.0
    for index in sorted(range(len(gaps)), key=gaps.__getitem__):
        if shorter and gaps[index] > _BROKEN_ABOVE * shorter and gaps[index] > 1_000_000_000:
            drawn[index] = _DRAWN_AS * shorter
        shorter += drawn[index]
    return drawn


def _nice_step(least_ns: float) -> int:
    step = 1
    while True:
        for factor in _NICE:
            if step * factor >= least_ns:
                return step * factor
        step *= 10
