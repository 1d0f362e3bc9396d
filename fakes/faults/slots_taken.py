"""A decoder that gives a request another slot than it wants, or none at all."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, one_of, whole_number
from fakes.point import Point
from fakes.steps import Wanted


def pin_ignored(step: Wanted, where: str) -> Wanted:
    """A completion's `id_slot` is ignored without a word: it goes where an unpinned one would, or to the next slot.

    The decoder claims nothing; the reply's `id_slot` is the slot that served. A correct router reads it, or the
    counters, sees that rows and request met different slots, and marks the handoff as lost.
    """
    assert step.slot is not None
    return replace(step, slot=None if where == "any" else (step.slot + 1) % step.n_slots)


def slot_stuck(step: Wanted, slot: int) -> Wanted:
    """The slot is busy for ever from the first request or action on that wants one: whoever wants it waits.

    The decoder claims that somebody is served there. A correct router gives up at its deadline for the step, leases
    the slot to nobody, and goes on with the others.
    """
    return replace(step, stuck=(slot % step.n_slots,))


def all_stuck(step: Wanted) -> Wanted:
    """All slots are busy for ever from the first request or action on that wants one: everybody waits, no error comes.

    The decoder claims that all are served, `/health` that it is well. A correct router ends every request within its
    limits, says which step was not answered, and takes the decoder out of use.
    """
    return replace(step, stuck=tuple(range(step.n_slots)))


FAULTS = (
    Fault(
        "pin-ignored",
        Point.SLOT_WANTED,
        pin_ignored,
        Value(one_of("any", "next"), "any", "where it goes instead: any slot, or the next"),
        ("antoinezambelli/forge#155",),
        fits=lambda step: step.slot is not None and not step.is_action and step.n_slots > 1,
    ),
    Fault(
        "slot-stuck",
        Point.SLOT_WANTED,
        slot_stuck,
        Value(whole_number(0, 1 << 20), 0, "the slot"),
        ("ggml-org/llama.cpp#28280", "ggml-org/llama.cpp#24496"),
    ),
    Fault("slots-all-stuck", Point.SLOT_WANTED, all_stuck, reports=("ggml-org/llama.cpp#27388",)),
)
