"""Holding a fake at a named point until it is released: how two requests are put in order without a sleep."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes.effects import Signal
from fakes.fault import Context, When, Writes
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
        self._held: dict[tuple[Point, When], _Hold] = {}

    @property
    def idle(self) -> bool:
        """Whether nothing is held."""
        return not self._held

    @property
    def points(self) -> dict[str, int]:
        """Held points, and how many wait there."""
        return self.points_of(None)

    def points_of(self, scope: str | None) -> dict[str, int]:
        """Those that are held for a scope, or all."""
        found: dict[str, int] = {}
        for (point, when), hold in self._held.items():
            if scope in (None, when.scope):
                found[point.value] = found.get(point.value, 0) + len(hold.waiting)
        return found

    def hold(self, point: Point, at: int = 1, when: When | None = None) -> None:
        """Hold whoever reaches `point` from its `at`-th reaching on; with `when` only those it means."""
        self._held.setdefault((point, when or When()), _Hold(at)).at = at

    def release(self, point: Point, scope: str | None = None) -> int:
        """Let everybody go on who waits at `point`, and hold nobody there any more: how many waited.

        With `scope` only who is held for it.
        """
        keys = [key for key in self._held if key[0] is point and scope in (None, key[1].scope)]
        return sum(self._release(key) for key in keys)

    def _release(self, key: tuple[Point, When]) -> int:
        hold = self._held.pop(key)
        for signal in hold.waiting:
            self._journal.write("released", point=key[0].value)
            signal.set()
        return len(hold.waiting)

    def release_all(self, scope: str | None = None) -> None:
        for key in list(self._held):
            if scope in (None, key[1].scope):
                self._release(key)

    def is_held(self, point: Point) -> bool:
        """Whether `point` is held, for whoever would rather not stop at each reaching otherwise."""
        return any(held is point for held, _ in self._held) if self._held else False

    def reach(self, point: Point, asked: Context | None = None) -> Signal | None:
        """What to wait for at `point`, None where nothing holds."""
        if not self._held:
            return None
        for (held, when), hold in self._held.items():
            if held is point and when.concerns(None, asked):
                hold.reached += 1
                if hold.reached >= hold.at:
                    signal = Signal()
                    hold.waiting.append(signal)
                    self._journal.write("held", point=point.value)
                    return signal
        return None
