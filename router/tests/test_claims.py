"""Claims: what is a count at all, and what is the right one. Lines are read by the wire's own codec."""

import pytest

from router import claims
from wire.provider import last_claim


def judged(raw: str, *, into_region: bool = True):
    failure = claims.judge(last_claim(b'{"n_tokens": %s}\n' % raw.encode()), 30, into_region=into_region)
    return None if failure is None else failure.words


@pytest.mark.parametrize("raw", ["30", "30.0", "3e1"])
def test_the_right_number_passes(raw):
    assert judged(raw) is None


def test_no_claim_is_no_error():
    assert claims.judge(None, 30, into_region=True) is None


@pytest.mark.parametrize(("raw", "shown"), [("29", "29"), ("31", "31"), ("0", "0"), ("29.0", "29")])
def test_another_number_is_named_by_route(raw, shown):
    assert judged(raw) == f"provider prefilled {shown} of 30 tokens into the shared region"
    assert judged(raw, into_region=False) == f"provider prefilled {shown} of 30 tokens"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("-1", "-1"),
        ("29.5", "29.5"),
        ("true", "true"),
        ('"30"', '"30"'),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("1e30", "1e+30"),
        ("1000000000000", "1000000000000"),
        ("null", "null"),
        ("[30]", "[30]"),
    ],
)
def test_what_is_no_count_is_named_as_it_was_said(raw, shown):
    assert judged(raw) == f"provider claimed n_tokens {shown} for 30 tokens"


def test_a_hostile_claim_stays_on_one_short_line():
    words = judged('"' + "x" * 5000 + '"')
    assert len(words) < 120
    assert "\n" not in judged('"a\\nb"')
    assert judged("9" * 5000).startswith("provider claimed n_tokens")


@pytest.mark.parametrize(("told", "expected"), [("12.5", 12.5), ("0", 0.0), ("true", 7.0), ('"3"', 7.0), ("NaN", 7.0)])
def test_prefill_is_the_providers_figure_if_it_is_finite(told, expected):
    claim = last_claim(b'{"n_tokens": 1, "prefill_ms": %s}' % told.encode())
    assert claims.prefill_ms(claim, 7.0) == expected


def test_prefill_is_measured_where_nothing_is_told():
    assert claims.prefill_ms(None, 7.0) == 7.0
    assert claims.prefill_ms(last_claim(b'{"n_tokens": 1}'), 7.0) == 7.0
