"""A provider whose claim is right and whose rows or state file are not.

Of rows no router can know: the cells are adopted and counted as reused, and only the reply shows it, which differs
from the plain run's. A state file has a token list, a size and a claimed checksum that a router can look at.
"""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, one_of, whole_number
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


def foreign_file(step: Prefill) -> Prefill:
    """The state file is another prompt's, tokens and rows, as many as asked for. On the shared route nothing is wrong.

    The provider claims a whole prefill of the prompt. A correct router reads the tokens in front and lets no decoder
    restore the file.
    """
    return replace(foreign(step), foreign_file=True)


def damaged_file(step: Prefill) -> Prefill:
    """A byte of the state file's rows changes after its checksum was taken. On the shared route nothing is wrong.

    The provider claims the checksum of what it wrote. A correct router compares it and lets no decoder restore the
    file, since a decoder would take it and answer wrongly.
    """
    return replace(step, damaged_file=True)


def one_more(step: Prefill, how: str) -> Prefill:
    """A row more than was asked for is written, of the last token again; the claim counts it, or says nothing of it.

    The provider claims one token too many, or hides it. A correct router compares the claim, and a file's tokens, with
    what it asked for, and lets the decoder prefill; a row too many in a region, which nobody counts, it cannot see.
    """
    n_claimed = step.n_claimed + (how == "claimed")
    return replace(step, tokens=(*step.tokens, *step.tokens[-1:]), n_rows=step.n_rows + 1, n_claimed=n_claimed)


def shifted(step: Prefill, cells: int) -> Prefill:
    """Every row is written so many cells behind its own; the claim is all of them.

    The provider claims a whole prefill. A correct router cannot see it and hands the rows over; the reply differs from
    the plain run's.
    """
    return replace(step, shifted=cells)


def damaged_row(step: Prefill, cell: int) -> Prefill:
    """One byte of the row of one cell is another one, in the first tensor; all else and the claim are right.

    The provider claims a whole prefill. A correct router cannot see it in a region, and a file's checksum is taken over
    it; the reply differs from the plain run's.
    """
    return replace(step, damaged_cell=cell)


FAULTS = (
    Fault(
        "provider-one-row-more",
        Point.PREFILL,
        one_more,
        Value(one_of("claimed", "hidden"), "claimed", "whether it is: claimed or hidden"),
        ("LMCache/LMCache#4614",),
    ),
    Fault(
        "provider-shifted-rows",
        Point.PREFILL,
        shifted,
        Value(whole_number(1, 1 << 20), 1, "cells"),
        ("vllm-project/vllm#52234",),
    ),
    Fault(
        "provider-damaged-row",
        Point.PREFILL,
        damaged_row,
        Value(whole_number(0, 1 << 24), 1, "the cell, from 0"),
        ("vllm-project/vllm#52234",),
    ),
    Fault("provider-foreign-file", Point.PREFILL, foreign_file, reports=("vllm-project/vllm#52234",)),
    Fault("provider-damaged-file", Point.PREFILL, damaged_file, reports=("vllm-project/vllm#52234",)),
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
