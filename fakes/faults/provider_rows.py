"""A provider whose claim is right and whose rows are not: what no router can know.

The cells are adopted and counted as reused. What shows it is the reply, which differs from the plain run's.
"""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, whole_number
from fakes.point import Point
from fakes.steps import Prefill

_SHIFT = 1


def fewer(step: Prefill, k: int) -> Prefill:
    """The last k rows are not written; the claim is all of them.

    The provider claims a whole prefill. A correct router cannot see it and hands the rows over; the reply differs
    where k is 2 or more (the decoder evaluates the last token again, which heals a row missing there alone).
    """
    return replace(step, n_rows=max(0, step.n_rows - k))


def stale(step: Prefill) -> Prefill:
    """No row is written: what a former prompt left in the cells stays there. The claim is all rows.

    The provider claims a whole prefill. A correct router cannot see it; the reply is made from the former rows.
    """
    return replace(step, n_rows=0)


def foreign(step: Prefill) -> Prefill:
    """The rows of another prompt are written, as many as asked for: every token but the last is its neighbour.

    The provider claims a whole prefill of the prompt. A correct router cannot see it; the reply is the other prompt's.
    """
    *front, last = step.tokens or (0,)
    return replace(step, tokens=(*(token ^ _SHIFT for token in front), last)) if step.tokens else step


FAULTS = (
    Fault(
        "provider-fewer-rows",
        Point.PREFILL,
        fewer,
        Value(whole_number(1, 1 << 24), 2, "rows left out"),
        ("sgl-project/sglang#30233",),
    ),
    Fault("provider-stale-rows", Point.PREFILL, stale, reports=("vllm-project/vllm#52234",)),
    Fault("provider-foreign-rows", Point.PREFILL, foreign, reports=("vllm-project/vllm#52234",)),
)
