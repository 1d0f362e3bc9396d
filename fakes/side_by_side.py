"""Several flows of one request at the same time: each goes on as soon as what it waits for has come."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar, cast

from fakes.effects import Await, ClientGone, Effect, Pause, Signal
from fakes.waits import Waits

T = TypeVar("T")
_ENOUGH_S = 0.0005
"""A timer that fires so much early is on time: the timers of loops are no finer."""


def side_by_side(
    flows: Sequence[Generator[Effect, Any, T]], clock: Callable[[], float]
) -> Generator[Effect, Any, list[T]]:
    """Their results in order. Where one fails the others are told that their client has gone.

    `clock` is in seconds. What they write goes out in the order in which they come to it.
    """
    bell = _Bell()
    lanes = [_Lane(flow, clock, bell) for flow in flows]
    try:
        while working := [lane for lane in lanes if not lane.ended]:
            due = [lane for lane in working if lane.is_due()]
            for lane in due:
                yield from lane.go()
            yield from _turn(working) if due else bell.wait(working)
    except BaseException:
        for lane in reversed(lanes):  # who waits for a slot does not get one that is given up
            lane.give_up()
        raise
    return [cast(T, lane.result) for lane in lanes]


def _turn(lanes: Sequence[_Lane[Any]]) -> Generator[Effect, Any, None]:
    """Others have their turn where a flow let them."""
    if any(lane.has_paused for lane in lanes):
        yield Pause(0)


class _Bell:
    """Rings when one of several signals is set."""

    def __init__(self) -> None:
        self._signal = Signal()

    def ring(self) -> None:
        self._signal.set()

    def wait(self, lanes: Sequence[_Lane[Any]]) -> Generator[Effect, Any, None]:
        """Until the first of them can go on."""
        left = [lane.seconds_left for lane in lanes if lane.seconds_left is not None]
        self._signal = Signal()
        yield Await(self._signal, min(left, default=None))


class _Lane(Generic[T]):
    """One flow, and what it waits for."""

    def __init__(self, flow: Generator[Effect, Any, T], clock: Callable[[], float], bell: _Bell) -> None:
        self._flow = flow
        self._clock = clock
        self._bell = bell
        self._waits = Waits(clock)
        self._signal: Signal | None = None
        self._until: float | None = None
        self.has_paused = False
        self.ended = False
        self.result: T | None = None

    def is_due(self) -> bool:
        if self._signal is not None:
            return self._signal.is_set
        return self.seconds_left is None or self.seconds_left <= _ENOUGH_S

    @property
    def seconds_left(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - self._clock())

    def go(self) -> Generator[Effect, Any, None]:
        """On to where it waits next, or to its end."""
        self._signal = self._until = None
        self.has_paused = False
        while (effect := self._next()) is not None:
            if isinstance(effect, Await):
                self._signal = effect.signal
                self._signal.on_set(self._bell.ring)
                return
            if isinstance(effect, Pause):
                self.has_paused = True
                self._until = self._clock() + self._waits.delay(effect.seconds)
                return
            yield effect

    def _next(self) -> Effect | None:
        try:
            return next(self._flow)
        except StopIteration as end:
            self.ended, self.result = True, end.value
            return None
        except BaseException:
            self.ended = True
            raise

    def give_up(self) -> None:
        """Its client has gone."""
        if not self.ended:
            self.ended = True
            try:
                self._flow.throw(ClientGone())
            except (ClientGone, StopIteration):
                return
