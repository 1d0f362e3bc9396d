"""A provider that does not end as it should, or not when it should."""

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


def killed(step: Prefill, percent: int) -> Prefill:
    """So much of the rows is written, then the process dies by SIGKILL without a claim.

    The provider claims nothing, and with all rows written its work was paid for. A correct router takes the signal for
    a failure, not the missing claim for success, does not start it a second time, and lets the decoder prefill.
    """
    return replace(step, n_rows=step.n_rows * percent // 100, n_claimed=0, end=End.KILLED)


def hang(step: Prefill, percent: int) -> Prefill:
    """So much of the rows is written, then nothing more happens: no claim, no end, until SIGTERM comes.

    The provider claims nothing. A correct router ends its whole process group at the provider deadline, reaps it, and
    only then lets the decoder use the slot.
    """
    return replace(step, n_rows=step.n_rows * percent // 100, n_claimed=0, end=End.HANG)


def fails_after_claim(step: Prefill, status: int) -> Prefill:
    """All rows are written and claimed; then the exit status is not 0.

    The provider claims a whole prefill and says that it failed. A correct router believes the status: nothing is
    adopted or restored, the status is named, and the decoder prefills.
    """
    return replace(step, end=End.FAILS, status=status)


def late(step: Prefill, milliseconds: int) -> Prefill:
    """Nothing happens for so long, then everything is as it should be; SIGTERM ends it at once, as the journal says.

    The provider is only slow, as behind others. A correct router waits within its deadline, and when its client leaves
    it ends the provider instead of letting it prefill for nobody.
    """
    return replace(step, late_s=milliseconds / 1000)


def slow_write(step: Prefill, milliseconds: int) -> Prefill:
    """Half of the rows are written, and so much later the other half; SIGTERM is ignored from the first half on.

    The provider claims nothing meanwhile and writes on after it was told to end. A correct router kills it, and gives
    slot and cells to nobody else before it is reaped.
    """
    return replace(step, slow_s=milliseconds / 1000)


def leaves_child(step: Prefill) -> Prefill:
    """Rows, claim and exit status are right; a child of its process group lives on with its output open.

    The provider claims that it is done, and its output never ends. A correct router goes by the process and not by the
    end of its output, and ends the whole group.
    """
    return replace(step, leaves_child=True)


_PERCENT = Value(whole_number(0, 100), 50, "percent of the rows that are written")
_STATUS = Value(whole_number(1, 255), 3, "exit status")
_MS = whole_number(1, 3_600_000)
FAULTS = (
    Fault(
        "provider-exit", Point.PREFILL, exit_status, _STATUS, ("sgl-project/sglang#29017", "llm-d/llm-d-router#1206")
    ),
    Fault("provider-killed", Point.PREFILL, killed, _PERCENT, ("sgl-project/sglang#30233", "sgl-project/sglang#34570")),
    Fault("provider-hang", Point.PREFILL, hang, _PERCENT, ("vllm-project/vllm#46008", "sgl-project/sglang#29482")),
    Fault("provider-fails-after-claim", Point.PREFILL, fails_after_claim, _STATUS, ("sgl-project/sglang#30233",)),
    Fault("provider-late", Point.PREFILL, late, Value(_MS, 2000, "ms before it begins"), ("ai-dynamo/dynamo#13691",)),
    Fault(
        "provider-slow-write",
        Point.PREFILL,
        slow_write,
        Value(_MS, 2000, "ms between the halves"),
        ("sgl-project/sglang#24527",),
    ),
    Fault("provider-leaves-child", Point.PREFILL, leaves_child, reports=("mostlygeek/llama-swap#138",)),
)
