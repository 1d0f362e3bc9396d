"""A decoder that answers an adopt 200 and did something else."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, more_or_less, whole_number
from fakes.point import Point
from fakes.steps import Adopted, Checked


def empty(step: Adopted) -> Adopted:
    """The adopt is answered 200 with every cell counted; the slot's list of tokens stays empty.

    The decoder claims a whole handoff, and the next request reuses none of it. A correct router reads the reply's own
    timings and names the lost handoff, whatever was acknowledged.
    """
    return replace(step, tokens=())


def fewer(step: Adopted, k: int) -> Adopted:
    """The last k cells are not adopted: 200, with k fewer in `n_adopted` and in the slot.

    The decoder says plainly what it did. A correct router sees a count that is not the one it asked for, takes the
    handoff for failed, erases the slot and lets the decoder prefill; it does not hand over a second time.
    """
    kept = max(0, len(step.tokens) - k)
    return Adopted(kept, step.tokens[:kept])


def count(step: Adopted, more: int) -> Adopted:
    """All cells are adopted; `n_adopted` says so many more or fewer.

    The decoder claims another number than it took. A correct router does not guess which half is true: it names the
    count, erases the slot and lets the decoder prefill.
    """
    return replace(step, n_adopted=max(0, step.n_adopted + more))


def any_id(step: Checked) -> Checked:
    """An adopt under a `share_id` that is not the slot's is done as if it were: whatever its cells hold now counts.

    The decoder claims a good adopt. A correct router never asks for it: a share belongs to one attempt of one request,
    and it keeps no `share_id` behind that attempt's end.
    """
    return Checked()


FAULTS = (
    Fault("kvshare-adopt-empty", Point.ADOPTED, empty, reports=("ggml-org/llama.cpp#26676",)),
    Fault(
        "kvshare-adopt-fewer",
        Point.ADOPTED,
        fewer,
        Value(whole_number(1, 1 << 20), 1, "cells left out"),
        ("sgl-project/sglang#30233",),
    ),
    Fault(
        "kvshare-adopt-count",
        Point.ADOPTED,
        count,
        Value(more_or_less(1 << 20), 1, "cells too many, or with a minus too few"),
        ("LMCache/LMCache#4614",),
    ),
    Fault(
        "kvshare-adopt-any-id",
        Point.ADOPT_CHECKED,
        any_id,
        reports=("vllm-project/vllm#52234",),
        fits=lambda step: bool(step.why) and step.share_id_only,
    ),
)
