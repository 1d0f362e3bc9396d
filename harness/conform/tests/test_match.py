"""What a value is like."""

import re

import pytest

from harness.conform.match import keys, mismatch


@pytest.mark.parametrize(
    ("like", "seen"),
    [
        (5, 5),
        (None, None),
        (int, 5),
        (float, 5),
        (float, 0.5),
        (bool, True),
        (re.compile("b[0-9]+"), "b12"),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": {"b": str}}, {"a": {"b": "x"}}),
        ([int, str], [1, "x"]),
        (keys("a b"), {"a": 1, "b": 2}),
        (lambda value: value > 3, 4),
    ],
)
def test_it_is_like_that(like, seen):
    assert mismatch(like, seen) is None


@pytest.mark.parametrize(
    ("like", "seen", "words"),
    [
        (5, 6, "the answer is 6, expected 5"),
        (1, True, "expected 1"),
        (1, 1.0, "expected 1"),
        (int, True, "expected int"),
        (str, 5, "expected str"),
        (re.compile("b[0-9]+"), "b12c", "expected to fit 'b[0-9]+'"),
        (re.compile("b"), 5, "expected to fit"),
        ({"a": 1}, {}, "a is missing"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b is 2, expected 1"),
        ({"a": 1}, [1], "expected an object"),
        ([1], [1, 2], "expected a list of 1"),
        ([1, 2], [1, 3], "[1] is 3, expected 2"),
        (keys("a b"), {"b": 1, "a": 2}, "in the order"),
        (keys("a b"), {"a": 1}, "lacks ['b']"),
        (keys("a"), {"a": 1, "c": 2}, "has ['c'] beyond"),
        (lambda value: value > 3, 2, "the answer is 2"),
    ],
)
def test_it_is_not(like, seen, words):
    assert words in str(mismatch(like, seen))
