"""Holding at a point: both moments are in the journal, and everybody who waits goes on."""

from fakes.hold import Holds
from fakes.point import Point
from fakes.tests.stage import Kept


def test_nobody_waits_where_nothing_is_held():
    holds = Holds(Kept())
    holds.hold(Point.REPLY)
    assert holds.reach(Point.STARTED) is None


def test_everybody_at_a_held_point_waits_until_it_is_released():
    journal = Kept()
    holds = Holds(journal)
    holds.hold(Point.REPLY)
    signals = [holds.reach(Point.REPLY) for _ in range(2)]
    assert [signal.is_set for signal in signals] == [False, False]
    assert holds.points == {"decoder.reply": 2}
    assert holds.release(Point.REPLY) == 2
    assert [signal.is_set for signal in signals] == [True, True]
    assert holds.reach(Point.REPLY) is None
    assert [entry["event"] for entry in journal.entries] == ["held", "held", "released", "released"]


def test_the_first_that_waits_may_be_a_later_one():
    holds = Holds(Kept())
    holds.hold(Point.TOKEN, at=3)
    assert [holds.reach(Point.TOKEN) is None for _ in range(4)] == [True, True, False, False]


def test_a_signal_calls_back_once_and_at_once_if_it_has_happened():
    holds, called = Holds(Kept()), []
    holds.hold(Point.REPLY)
    signal = holds.reach(Point.REPLY)
    signal.on_set(lambda: called.append("before"))
    holds.release_all()
    signal.on_set(lambda: called.append("after"))
    assert called == ["before", "after"]
