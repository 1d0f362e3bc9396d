"""Judges what a provider claims to have prefilled. The claim's line is read by `wire.provider`."""

from __future__ import annotations

import json
import math

from router.one_line import one_line
from router.routes.choose import Outcome, Step, StepFailed, failed
from wire.provider import Claim

MAX_CLAIM = 0x7FFFFFFF
"""More tokens than any context has: such a claim is not short or long but absurd."""


def judge(claim: Claim | None, asked: int, *, into_region: bool) -> StepFailed | None:
    """What is wrong with the claim. None: it is right, or there is none (the region or file is the result)."""
    if claim is None:
        return None
    count = _count(claim.n_tokens)
    if count is None:
        return failed(Step.CLAIM, Outcome.ABSURD, claimed=_shown(claim.n_tokens), asked=asked)
    if count == asked:
        return None
    short = Outcome.SHORT_REGION if into_region else Outcome.SHORT_FILE
    return failed(Step.CLAIM, short, claimed=count, asked=asked)


def _count(value: object) -> int | None:
    """The number of tokens that `value` is, if it is one at all. `true` and `"30"` are not; 30.0 is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or value != int(value) or not 0 <= value <= MAX_CLAIM:
        return None
    return int(value)


def _shown(value: object) -> str:
    return one_line(json.dumps(value).encode(), 60)


def prefill_ms(claim: Claim | None, measured_ms: float) -> float:
    """The provider's own figure if it is a finite number, else the time that was measured."""
    told = claim.prefill_ms if claim is not None else None
    if isinstance(told, bool) or not isinstance(told, int | float):
        return measured_ms
    # A whole number too large for a float is not one that anybody measured.
    return float(told) if abs(told) < 1e15 and math.isfinite(told) and told >= 0 else measured_ms
