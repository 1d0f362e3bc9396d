"""A provider that cannot do what it is asked: too long a prompt, no room on the disk, nothing to hand over."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, whole_number
from fakes.point import Point
from fakes.steps import End, Prefill


def capacity(step: Prefill, tokens: int) -> Prefill:
    """A prompt of more than so many tokens is refused at once: a line on stderr that names the limit, exit status 1.

    The provider says plainly that it never will. A correct router does not wait for room that cannot come, names the
    status, and lets the decoder prefill or refuse.
    """
    says = f"{len(step.tokens)} tokens, the buffer holds {tokens}"
    return replace(step, n_rows=0, n_claimed=0, end=End.EXIT, status=1, says=says)


def disk_full(step: Prefill, room: int) -> Prefill:
    """The disk has room for so many bytes of the state file: they are written, then it fails with exit status 1.

    The provider says plainly that it failed, and leaves a part of a file behind. A correct router removes it, restores
    nothing, names the status, and counts the handoff as failed.
    """
    return replace(step, room=room)


def nothing_done(step: Prefill) -> Prefill:
    """No row is written and no line is claimed, and the exit status is 0: its prefill has ended for another reason.

    The provider claims success by its status alone, as one whose first token was an end. A correct router waits for
    nothing more: a state file that is not there cannot be restored, and the decoder prefills; of a region no router can
    know, and the reply differs from the plain run's.
    """
    return replace(step, n_rows=0, n_claimed=0, end=End.EXIT, status=0)


FAULTS = (
    Fault(
        "provider-capacity",
        Point.PREFILL,
        capacity,
        Value(whole_number(1, 1 << 24), 1, "tokens that it can take"),
        ("LMCache/LMCache#4209",),
    ),
    Fault(
        "provider-disk-full",
        Point.PREFILL,
        disk_full,
        Value(whole_number(1, 1 << 40), 100, "bytes that there is room for"),
        ("ddvnguyen/hydra_vortex#615",),
        fits=lambda step: not step.is_shared,
    ),
    Fault("provider-nothing-done", Point.PREFILL, nothing_done, reports=("vllm-project/vllm#46008",)),
)
