"""Holding a fake at a named point until it is released: how two requests are put in order without a sleep."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes.effects import Signal
from fakes.fault import Writes
from fakes.point import Point


@dataclass(slots=True)
class _Hold:
    at: int
    """The n-th reaching of the point from now on is the first that is held."""
    reached: int = 0
    waiting: list[Signal] = field(default_factory=list)


class Holds:
    """The points that are held now. Everybody who reaches one waits for its release."""

    def __init__(self, journal: Writes) -> None:
        self._journal = journal
        self._held: dict[Point, _Hold] = {}

    @property
    def points(self) -> dict[str, int]:
        """Held points, and how many wait there."""
        return {point.value: len(hold.waiting) for point, hold in self._held.items()}

    def hold(self, point: Point, at: int = 1) -> None:
        """Hold whoever reaches `point` from its `at`-th reaching on."""
        self._held.setdefault(point, _Hold(at)).at = at

    def release(self, point: Point) -> int:
        """Let everybody go on who waits at `point`, and hold nobody there any more: how many waited."""
        hold = self._held.pop(point, None)
        if hold is None:
            return 0
        for signal in hold.waiting:
            self._journal.write("released", point=point.value)
            signal.set()
        return len(hold.waiting)

    def release_all(self) -> None:
        for point in list(self._held):
            self.release(point)

    def is_held(self, point: Point) -> bool:
        """Whether `point` is held, for whoever would rather not stop at each reaching otherwise."""
        return point in self._held

    def reach(self, point: Point) -> Signal | None:
        """What to wait for at `point`, None where nothing holds."""
        if not self._held:
            return None
        hold = self._held.get(point)
        if hold is None:
            return None
        hold.reached += 1
        if hold.reached < hold.at:
            return None
        signal = Signal()
        hold.waiting.append(signal)
        self._journal.write("held", point=point.value)
        return signal
