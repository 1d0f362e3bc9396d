"""The ratio of two builds' times: by hand where it is simple, and by what an interval must do."""

import pytest

from harness.proof.paired_timing import paired_timing, ratio_of
from harness.result import CheckResult, ScenarioResult, Status


def timed(build: str, repeat: int, seconds: float, status: Status = Status.OK) -> ScenarioResult:
    check = CheckResult("suite", "s", "holds", build, status, "", repeat=repeat)
    return ScenarioResult("suite", "s", build, (check,), duration_s=seconds, repeat=repeat)


def test_twice_as_long_and_half_as_long_average_to_even():
    assert ratio_of([(1.0, 2.0), (2.0, 1.0)]).ratio == pytest.approx(1.0)


def test_one_pair_has_no_interval():
    found = ratio_of([(1.0, 1.5)])
    assert (found.ratio, found.low, found.high) == (pytest.approx(1.5), None, None)


def test_the_interval_is_students():
    """Logarithms 0 and 2, mean 1, standard error 1: the half width is t for one degree of freedom, 12.706."""
    found = ratio_of([(1.0, 1.0), (1.0, 7.38905609893)])
    assert found.high == pytest.approx(2.718281828 * 2.718281828**12.706, rel=1e-4)


@pytest.mark.parametrize("pairs", [2, 5, 11, 12, 17, 40, 130, 500])
def test_equal_pairs_leave_no_doubt_and_more_noisy_pairs_less(pairs):
    even = ratio_of([(1.0, 1.2)] * pairs)
    assert (even.low, even.high) == (pytest.approx(1.2), pytest.approx(1.2))
    noisy, more = [ratio_of([(1.0, 1.1), (1.0, 0.9)] * count) for count in (pairs, 2 * pairs)]
    assert more.high - more.low < noisy.high - noisy.low


def test_only_pairs_that_both_builds_have_count():
    results = [timed("old", 0, 1.0), timed("new", 0, 2.0), timed("old", 1, 9.0), timed("new", 2, 9.0)]
    found = paired_timing(results)
    assert found is not None
    assert (found.pairs, found.ratio) == (1, pytest.approx(2.0))


def test_a_build_that_could_not_be_observed_has_no_time():
    assert paired_timing([timed("old", 0, 1.0, Status.ERROR), timed("new", 0, 2.0)]) is None
