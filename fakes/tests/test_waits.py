"""Waits on coarse timers add up."""

import pytest

from fakes.waits import Waits


class Clock:
    """A clock, and timers of a whole millisecond that fire a little late."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def timer(self, seconds, late=0.0001):
        self.now += round(seconds * 1000) / 1000 + late


@pytest.mark.parametrize("rate", [20, 150, 700, 1500, 4000])
def test_many_waits_take_what_they_take_together(rate):
    clock = Clock()
    waits = Waits(clock)
    for _ in range(200):
        clock.timer(waits.delay(1 / rate))
    assert clock.now - 100.0 == pytest.approx(200 / rate, abs=0.001)


def test_who_was_held_up_does_not_hurry_afterwards():
    clock = Clock()
    waits = Waits(clock)
    clock.timer(waits.delay(0.01))
    clock.now += 3.0
    assert waits.delay(0.01) == pytest.approx(0.01)
    assert waits.delay(0.01) == pytest.approx(0.02)


def test_a_turn_for_others_is_no_wait():
    clock = Clock()
    waits = Waits(clock)
    assert waits.delay(0) == 0
    assert waits.delay(0.02) == pytest.approx(0.02)
