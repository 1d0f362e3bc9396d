"""A provider that fills the region to k rows short, and says so."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, whole_number
from fakes.point import Point
from fakes.steps import Prefill


def short(step: Prefill, k: int) -> Prefill:
    """The last k rows are not written, and the claim is k tokens fewer than asked for; the exit status is 0.

    The provider tells the truth about an unfinished prefill. A correct router adopts nothing and lets the decoder
    prefill: a part of a prompt under the whole prompt's tokens is no prefix.
    """
    rows = max(0, step.n_rows - k)
    return replace(step, n_rows=rows, n_claimed=max(0, step.n_claimed - k))


VALUE = Value(whole_number(1, 1 << 24), 1, "rows left out")
FAULTS = (
    Fault(
        "kvshare-short",
        Point.PREFILL,
        short,
        VALUE,
        ("1bit-MONSTER/1bit-MONSTER#1203", "sgl-project/sglang#30233"),
    ),
)
