"""A decoder and the limits that a request sets to its reply."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, whole_number
from fakes.point import Point
from fakes.steps import Evaluation, Limits, Refuse


def limits_checked(step: Limits) -> Limits:
    """A completion whose `min_tokens` is more than its own limit is answered 500; every other one is served.

    The decoder says plainly what is wrong. A correct router asks its prefill server for one token without the lower
    bound that the client set, and lets the decoder have both of the client's limits.
    """
    why = f"min_tokens must be at most max_tokens ({step.n_min} > {step.n_max})"
    return replace(step, decision=Refuse(500, why))


def overrun(step: Evaluation, count: int) -> Evaluation:
    """The reply goes on for so many tokens behind its limit, and ends with the reason `length`, streamed or not.

    The decoder claims to have kept to the limit; `usage` counts them all. A correct router hands on what it was given
    and adds no token of its own prefill to it: through it and without it a reply has the same length.
    """
    return replace(step, overrun=count)


def _is_beyond(step: Limits) -> bool:
    return step.n_min is not None and step.n_max is not None and 0 <= step.n_max < step.n_min


FAULTS = (
    Fault(
        "limits-checked",
        Point.LIMITS,
        limits_checked,
        reports=("ModelEngine-Group/unified-cache-management#1295",),
        fits=_is_beyond,
    ),
    Fault(
        "limit-overrun",
        Point.EVALUATE,
        overrun,
        Value(whole_number(1, 1 << 20), 1, "tokens behind the limit"),
        ("sgl-project/sglang#7147",),
    ),
)
