"""Proof of use: what the decoder's own counters of a reply say about the handoff before it.

An acknowledgement, a restored count and a slot listing are never looked at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from router.routes.choose import Outcome, Step, StepFailed, failed


class Use(StrEnum):
    """What became of the rows that were handed over."""

    USED = "used"
    PARTIAL = "partial"
    LOST = "lost"
    UNKNOWN = "unknown"
    """The reply carried no timings: a cut stream, or a decoder that does not say; or none that can be believed."""
    UNVERIFIED = "unverified"
    """The decoder counts them as used, but may have had them from a cache of its own."""


@dataclass(frozen=True, slots=True)
class Timings:
    """The two counters of a reply."""

    cached: int
    evaluated: int


@dataclass(frozen=True, slots=True)
class Proof:
    """A verdict, and the rows of the decision table that tell of it."""

    use: Use
    findings: tuple[StepFailed, ...] = ()
    tokens_again: int = 0
    """Handed-over tokens that the decoder evaluated again."""


def read_timings(raw: bytes) -> Timings | None:
    """The counters out of a reply or a stream's frame; None where there are none."""
    if b'"timings"' not in raw:
        return None
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    timings = value.get("timings") if isinstance(value, dict) else None
    if not isinstance(timings, dict):
        return None
    cached, evaluated = timings.get("cache_n"), timings.get("prompt_n")
    if type(cached) is not int or type(evaluated) is not int:
        return None
    return Timings(cached, evaluated)


def prove(timings: Timings | None, n_prompt: int, n_handed: int) -> Proof:
    """`n_handed` of `n_prompt` tokens were handed over: were they used?"""
    if timings is None:
        return Proof(Use.UNKNOWN)
    cached, evaluated = timings.cached, timings.evaluated
    findings = miscounted(timings, n_prompt)
    if cached <= 0:
        lost = failed(Step.REPLY, Outcome.LOST, evaluated=evaluated, asked=n_prompt)
        return Proof(Use.LOST, (lost, *findings), n_handed)
    if evaluated > max(1, n_prompt - n_handed):
        partial = failed(Step.REPLY, Outcome.PARTIAL, cached=cached, asked=n_handed)
        return Proof(Use.PARTIAL, (partial, *findings), max(0, n_handed - cached))
    return Proof(Use.UNKNOWN if findings else Use.USED, findings)


def gone_cold(timings: Timings, n_prompt: int, n_warm: int) -> tuple[StepFailed, ...]:
    """The slot was believed to hold `n_warm` tokens of the prompt, and nothing was handed over: did it hold them?"""
    if timings.cached >= min(n_warm, n_prompt - 1):
        return ()
    return (failed(Step.REPLY, Outcome.COLD, evaluated=timings.evaluated, asked=n_prompt, warm=n_warm),)


def miscounted(timings: Timings, n_prompt: int) -> tuple[StepFailed, ...]:
    """Cached and evaluated tokens add up to the prompt, and one at least is evaluated; else no counter is believed."""
    if timings.cached + timings.evaluated == n_prompt and timings.evaluated >= 1:
        return ()
    return (failed(Step.REPLY, Outcome.MISCOUNTED, cached=timings.cached, evaluated=timings.evaluated, asked=n_prompt),)
