"""A decoder whose restore does not do what a router hopes for."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, more_or_less, whole_number
from fakes.point import Point
from fakes.steps import Decision, Refuse, Restored

MESSAGE = "Unable to restore slot: No available space in KV cache or invalid slot save file"


def refuse(_: Decision) -> Decision:
    """The restore is answered 400 with the one text for every bad file; the slot is emptied, as by any failed restore.

    The decoder says that it did not restore. A correct router removes the file, treats the slot as empty, and lets the
    decoder prefill the prompt.
    """
    return Refuse(400, MESSAGE)


def refuse_and_poison(_: Decision) -> Decision:
    """The restore is answered 400 as every bad file is; from then on every completion is 200, empty, without a token.

    The decoder says that it did not restore, and claims good answers after that; an erase does not cure it, a restart
    does. A correct router checks the decoder after a refused restore before it uses it again, or names the answers
    that have no token.
    """
    return Refuse(400, MESSAGE, poisons=True)


def count(step: Restored, more: int) -> Restored:
    """The file is restored as it is; `n_restored` says so many tokens more or fewer.

    The decoder claims another number than it took. A correct router does not guess which half is true: it names the
    count, treats the slot as in doubt and lets the decoder prefill.
    """
    return replace(step, n_restored=max(0, step.n_restored + more))


def dies_of_nothing(step: Restored) -> Restored:
    """A restore of a file without any rows kills the process; its connections are reset.

    The decoder claims nothing any more. A correct router does not restore a file that holds no token, answers this
    request openly or by another decoder, and starts a decoder of its own again.
    """
    return replace(step, dies=True)


def empty(step: Restored) -> Restored:
    """The restore is answered 200 with every token counted; the slot's list of tokens stays empty.

    The decoder claims a full restore, and the next request reuses none of it. A correct router reads the reply's own
    timings and names the lost handoff, whatever was acknowledged.
    """
    return replace(step, tokens=())


def window(step: Restored, kept: int) -> Restored:
    """The restore is answered 200 with every token counted and matched; only the last rows are there, the rest zeros.

    What a sliding-window model's decoder claims under --swa-full: that the window it read is the whole cache; it
    answers wrongly. A correct router cannot see it, so it never relies on --swa-full to make slots useful.
    """
    return replace(step, rows_lost=max(0, len(step.tokens) - kept))


def checkpoint(step: Restored, missing: int) -> Restored:
    """The restore is answered 200 with every token counted; only those up to a checkpoint in the file can be reused.

    What a recurrent or sliding-window model's decoder does: it cannot step back from the last token, so it goes on from
    a checkpoint a few tokens before. A correct router names how far the handed-over KV was used, and holds back the
    last token, with which a recurrent model need not step back at all.
    """
    return replace(step, tokens=step.tokens[: max(0, len(step.tokens) - missing)])


FAULTS = (
    Fault("restore-refuse-poisons", Point.RESTORE_ASKED, refuse_and_poison, reports=("ggml-org/llama.cpp#27068",)),
    Fault(
        "restore-count",
        Point.RESTORED,
        count,
        Value(more_or_less(1 << 20), 1, "tokens too many, or with a minus too few"),
        ("LMCache/LMCache#4614",),
    ),
    Fault(
        "restore-dies-empty",
        Point.RESTORED,
        dies_of_nothing,
        reports=("ggml-org/llama.cpp#14434",),
        fits=lambda step: not step.tokens,
    ),
    Fault(
        "restore-checkpoint",
        Point.RESTORED,
        checkpoint,
        Value(whole_number(1, 1 << 20), 4, "tokens behind it"),
        ("ggml-org/llama.cpp#26676", "ggml-org/llama.cpp#28194"),
    ),
    Fault(
        "restore-window",
        Point.RESTORED,
        window,
        Value(whole_number(0, 1 << 20), 64, "rows that are there"),
        ("ggml-org/llama.cpp#28194",),
    ),
    Fault("restore-refuse", Point.RESTORE_ASKED, refuse, reports=("ggml-org/llama.cpp#27068",)),
    Fault("restore-empty", Point.RESTORED, empty, reports=("ggml-org/llama.cpp#26676", "ggml-org/llama.cpp#28194")),
)
