"""Two traces of one prompt into a verdict. Pure.

The first difference decides; what comes after it was said about another text. There, two builds that only round
differently have nearly the same candidates: each knows the other's token, and both hesitate between the two. A
decoder that lost its KV, or has somebody else's, does not hesitate: it is sure of something else.

How far rounding may go depends on the weights. Floats agree to about a thousandth between builds, so only a margin
under `NEAR_TIE` on both sides excuses a difference. Quantised kernels differ between builds by tenths: there a
difference that reads as rounding is *not comparable*, which is not the same as right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from harness.proof.parity.trace import Choice, Trace

NEAR_TIE = 0.01
"""Log probability. Floats, attention in f32: the largest shift measured between two builds is 0.001."""

QUANTISED_LIMIT = 0.5
"""Log probability. Quantised weights: shifts up to 0.25 and margins up to 0.32 were measured between two builds."""

FLOOR_FACTOR = 2.0
"""A margin is within the noise if the control moved by half of it."""

FEWEST_COMPARED = 4
"""Fewer positions before a near tie leave nothing to say."""


class Reading(StrEnum):
    """What two replies are to each other."""

    SAME = "same"
    NEAR_TIE = "near tie"
    NOT_COMPARABLE = "not comparable"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Finding:
    """`positions` were compared and are the same; `at` is the first difference, with both margins there.

    `shift` is the largest change of a chosen token's log probability over the positions compared.
    """

    reading: Reading
    reason: str
    positions: int
    at: int | None = None
    margins: tuple[float | None, float | None] = (None, None)
    shift: float = 0.0


def shift_between(one: Trace, other: Trace) -> float:
    """The largest change of a token's log probability over the positions before the first difference."""
    shifts = [0.0]
    for mine, theirs in zip(one.choices, other.choices, strict=False):
        if mine.id != theirs.id:
            break
        here, there = mine.logprob(mine.id), theirs.logprob(mine.id)
        if here is not None and there is not None:
            shifts.append(abs(here - there))
    return max(shifts)


def noise_floor(controls: Iterable[tuple[Trace, Trace]]) -> float:
    """How far one build moves from itself: the same prompt cold and from a warm slot."""
    return max((shift_between(cold, warm) for cold, warm in controls), default=0.0)


def triage(one: Trace, other: Trace, *, floor: float, quantised: bool) -> Finding:
    """What the second reply is to the first."""
    shift = shift_between(one, other)
    pairs = zip(one.ids, other.ids, strict=False)
    at = next((index for index, (mine, theirs) in enumerate(pairs) if mine != theirs), None)
    if at is None:
        return _to_the_end(one, other, shift)
    mine, theirs = one.choices[at], other.choices[at]
    margins = (mine.margin, theirs.margin)
    reading, reason = _at_difference(mine, theirs, shift, floor, quantised)
    if reading is Reading.NEAR_TIE and at < FEWEST_COMPARED:
        reading, reason = Reading.NOT_COMPARABLE, f"{reason}; it leaves {at} positions to compare"
    return Finding(reading, f"token {at}: {mine.id} or {theirs.id}; {reason}", at, at, margins, shift)


def _to_the_end(one: Trace, other: Trace, shift: float) -> Finding:
    n = min(len(one.ids), len(other.ids))
    if not n:
        return Finding(Reading.NOT_COMPARABLE, "a reply has no tokens", 0)
    if len(one.ids) != len(other.ids):
        lengths = f"{len(one.ids)} and {len(other.ids)} tokens"
        return Finding(Reading.DIFFERENT, f"one reply ends sooner: {lengths}", n, n, shift=shift)
    return Finding(Reading.SAME, f"{n} tokens", n, shift=shift)


def _at_difference(mine: Choice, theirs: Choice, shift: float, floor: float, quantised: bool) -> tuple[Reading, str]:
    if mine.logprob(theirs.id) is None or theirs.logprob(mine.id) is None:
        return Reading.DIFFERENT, "neither rounding nor a tie: one's choice is not among the other's best; lost KV?"
    margins = [margin for margin in (mine.margin, theirs.margin) if margin is not None]
    if len(margins) < 2:
        return Reading.NOT_COMPARABLE, "a margin is not known"
    widest, within = max(margins), max(NEAR_TIE, FLOOR_FACTOR * floor) if quantised else NEAR_TIE
    if widest < within:
        return Reading.NEAR_TIE, f"both margins are under {within:.3g}"
    if not quantised:
        return Reading.DIFFERENT, f"a margin of {widest:.3g} is no rounding of floats"
    if widest <= QUANTISED_LIMIT and shift <= QUANTISED_LIMIT:
        return Reading.NOT_COMPARABLE, "both know both tokens, and quantised kernels differ by this much"
    return Reading.DIFFERENT, f"a margin of {widest:.3g} and a shift of {shift:.3g} are no rounding; lost KV?"
