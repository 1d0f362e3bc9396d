"""The reading of two replies, on traces laid down by hand."""

import pytest

from harness.proof.parity.trace import Choice, Trace, read
from harness.proof.parity.triage import Reading, noise_floor, shift_between, triage


def choice(token: int, other: int, margin: float, logprob: float = -0.5) -> Choice:
    return Choice(token, ((token, logprob), (other, logprob - margin)))


def trace(*choices: Choice) -> Trace:
    return Trace(choices, 0, 10)


LEAD = tuple(choice(token, 900 + token, 1.0) for token in range(10))


def reading(mine: Choice, theirs: Choice, *, quantised: bool = False, floor: float = 0.0, lead: int = 10) -> Reading:
    tail = choice(50, 51, 3.0)
    one, other = trace(*LEAD[:lead], mine, tail), trace(*LEAD[:lead], theirs, tail)
    return triage(one, other, floor=floor, quantised=quantised).reading


@pytest.mark.parametrize("quantised", [False, True])
def test_the_same_ids_are_the_same(quantised: bool) -> None:
    found = triage(trace(*LEAD), trace(*LEAD), floor=0.0, quantised=quantised)
    assert (found.reading, found.positions, found.at) == (Reading.SAME, 10, None)


@pytest.mark.parametrize(
    ("quantised", "margins", "said"),
    [
        (False, (0.009, 0.009), Reading.NEAR_TIE),
        (False, (0.009, 0.011), Reading.DIFFERENT),
        (False, (0.011, 0.009), Reading.DIFFERENT),
        (True, (0.009, 0.009), Reading.NEAR_TIE),
        (True, (0.318, 0.193), Reading.NOT_COMPARABLE),
        (True, (0.318, 0.51), Reading.DIFFERENT),
    ],
)
def test_margins_at_the_first_difference_decide(quantised: bool, margins: tuple[float, float], said: Reading) -> None:
    assert reading(choice(70, 71, margins[0]), choice(71, 70, margins[1]), quantised=quantised) is said


@pytest.mark.parametrize("quantised", [False, True])
def test_a_token_that_the_other_never_thought_of_is_no_rounding(quantised: bool) -> None:
    assert reading(choice(70, 71, 0.001), choice(80, 81, 0.001), quantised=quantised) is Reading.DIFFERENT


def test_the_noise_of_the_control_widens_a_tie_of_quantised_weights_only() -> None:
    mine, theirs = choice(70, 71, 0.15), choice(71, 70, 0.15)
    assert reading(mine, theirs, quantised=True, floor=0.08) is Reading.NEAR_TIE
    assert reading(mine, theirs, quantised=True, floor=0.07) is Reading.NOT_COMPARABLE
    assert reading(mine, theirs, quantised=False, floor=0.08) is Reading.DIFFERENT


def test_a_near_tie_too_early_leaves_nothing_to_compare() -> None:
    assert reading(choice(70, 71, 0.001), choice(71, 70, 0.001), lead=3) is Reading.NOT_COMPARABLE
    assert reading(choice(70, 71, 0.001), choice(71, 70, 0.001), lead=4) is Reading.NEAR_TIE


def test_what_comes_after_the_first_difference_is_not_looked_at() -> None:
    found = triage(
        trace(*LEAD, choice(70, 71, 0.001), choice(1, 2, 9.0)),
        trace(*LEAD, choice(71, 70, 0.001), choice(3, 4, 9.0)),
        floor=0.0,
        quantised=False,
    )
    assert (found.reading, found.at, found.margins) == (Reading.NEAR_TIE, 10, pytest.approx((0.001, 0.001)))


def test_a_large_shift_before_a_small_margin_is_no_rounding_even_of_quantised_weights() -> None:
    moved = tuple(choice(c.id, 900 + c.id, 1.0, logprob=-1.1) for c in LEAD)
    one, other = trace(*LEAD, choice(70, 71, 0.2)), trace(*moved, choice(71, 70, 0.2))
    assert triage(one, other, floor=0.0, quantised=True).reading is Reading.DIFFERENT


def test_a_reply_that_ends_sooner_is_different() -> None:
    assert triage(trace(*LEAD), trace(*LEAD[:9]), floor=0.0, quantised=True).reading is Reading.DIFFERENT


def test_replies_without_tokens_compare_to_nothing() -> None:
    assert triage(trace(), trace(), floor=0.0, quantised=False).reading is Reading.NOT_COMPARABLE


def test_the_floor_is_the_largest_shift_before_a_difference() -> None:
    moved = tuple(choice(c.id, 900 + c.id, 1.0, logprob=-0.5 - 0.01 * c.id) for c in LEAD)
    apart = trace(*LEAD[:2], choice(70, 71, 1.0, logprob=-9.0))
    assert shift_between(trace(*LEAD), trace(*moved)) == pytest.approx(0.09)
    assert noise_floor([(trace(*LEAD), trace(*moved)), (trace(*LEAD), apart)]) == pytest.approx(0.09)
    assert noise_floor([]) == 0.0


def test_a_completions_answer_is_read_with_its_best_first() -> None:
    tops = [{"id": 5, "logprob": -2.0}, {"id": 4, "logprob": -0.1}]
    body = {"completion_probabilities": [{"id": 4, "top_logprobs": tops}], "timings": {"cache_n": 3, "prompt_n": 1}}
    found = read(body)
    assert (found.ids, found.cache_n, found.prompt_n) == ((4,), 3, 1)
    assert found.choices[0].margin == pytest.approx(1.9)
    with pytest.raises(KeyError):
        read({"timings": {}})
