"""How long work takes."""

from __future__ import annotations

from statistics import mean

import pytest

from fakes.flags import FlagError, parse_flags
from fakes.pace import JITTERS, Jitter, Pace, read_jitter
from fakes.tests.stage import Stage

NONE = Jitter()


def waits(jitter, seed=1, count=2000):
    pace = Pace(0.0, jitter, seed)
    return [pace.seconds(10, 10.0, 1) for _ in range(count)]


def test_a_rate_and_no_rate():
    assert Pace(0.0, NONE, 1).seconds(50, 100.0, 1) == 0.5
    assert Pace(0.0, NONE, 1).seconds(50, 0.0, 1) == 0.0


def test_busy_slots_slow_each_other_down_where_they_should():
    assert [Pace(0.5, NONE, 1).seconds(10, 10.0, busy) for busy in (0, 1, 2, 3)] == [1.0, 1.0, 1.5, 2.0]
    assert Pace(0.0, NONE, 1).seconds(10, 10.0, 3) == 1.0


@pytest.mark.parametrize("kind", JITTERS)
def test_the_seed_decides_the_draws(kind):
    assert waits(Jitter(kind, 0.3)) == waits(Jitter(kind, 0.3))
    assert waits(Jitter(kind, 0.3)) != waits(Jitter(kind, 0.3), seed=2)


def test_the_distributions():
    uniform, normal, tail = (waits(Jitter(kind, 0.3)) for kind in ("uniform", "normal", "exp"))
    assert 0.7 <= min(uniform) < 0.75 < 1.25 < max(uniform) <= 1.3
    assert mean(uniform) == pytest.approx(1, abs=0.03)
    assert mean(normal) == pytest.approx(1, abs=0.03)
    assert min(waits(Jitter("normal", 3.0))) == 0.0
    assert min(tail) >= 1
    assert mean(tail) == pytest.approx(1.3, abs=0.03)


@pytest.mark.parametrize("text", ["", "uniform", "normal:x", "uniform:1.5", "exp:-1", "gamma:1", "normal:nan"])
def test_what_is_no_jitter_is_refused(text):
    with pytest.raises(ValueError, match=r"such as normal:0\.2"):
        read_jitter(text)
    with pytest.raises(FlagError, match=r"such as normal:0\.2"):
        parse_flags(["--jitter", text], {})


def test_a_reply_waits_as_long_as_that():
    stage = Stage("--decode-tps", "10", "--slow-down", "1")
    one = stage.start("POST", "/completion", {"prompt": [400], "n_predict": 2, "id_slot": 0})
    assert one.paused == [0.1]
    jittered = Stage("--decode-tps", "10", "--jitter", "uniform:0.5", "--jitter-seed", "3")
    waited = jittered.start("POST", "/completion", {"prompt": [400], "n_predict": 4}).paused
    assert len(set(waited)) == 3
    assert all(0.05 <= each <= 0.15 for each in waited)
