"""A provider that does not end as it should."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, whole_number
from fakes.point import Point
from fakes.steps import End, Prefill


def exit_status(step: Prefill, status: int) -> Prefill:
    """Nothing is written and nothing claimed; the exit status is not 0.

    The provider says that it failed. A correct router adopts or restores nothing, names the status and lets the
    decoder prefill the prompt.
    """
    return replace(step, n_rows=0, n_claimed=0, end=End.EXIT, status=status)


def killed(step: Prefill) -> Prefill:
    """Half of the rows are written, then the process dies by SIGKILL without a claim.

    The provider claims nothing. A correct router takes the signal for a failure, not the missing claim for success,
    and lets the decoder prefill the prompt.
    """
    return replace(step, n_rows=step.n_rows // 2, n_claimed=0, end=End.KILLED)


def hang(step: Prefill) -> Prefill:
    """Half of the rows are written, then nothing more happens: no claim, no end.

    The provider claims nothing. A correct router ends its whole process group at the provider deadline, reaps it, and
    only then lets the decoder use the slot.
    """
    return replace(step, n_rows=step.n_rows // 2, n_claimed=0, end=End.HANG)


FAULTS = (
    Fault(
        "provider-exit",
        Point.PREFILL,
        exit_status,
        Value(whole_number(1, 255), 3, "exit status"),
        ("sgl-project/sglang#29017",),
    ),
    Fault("provider-killed", Point.PREFILL, killed, reports=("sgl-project/sglang#30233",)),
    Fault("provider-hang", Point.PREFILL, hang, reports=("vllm-project/vllm#46008",)),
)
