"""A decoder that makes another use of what its slot holds than the prompt asks for.

Its counters are true: they say what it did, which is not what the acknowledgements before promised.
"""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault
from fakes.point import Point
from fakes.steps import Decision, Evaluation, Stall


def none(step: Evaluation) -> Evaluation:
    """The slot holds the prompt's tokens, `/slots` shows them, and the whole prompt is evaluated all the same.

    The decoder claims nothing but what it does: `cache_n` 0. A correct router believes these counters and no listing,
    calls the handoff lost, and says so in the request's own line.
    """
    return replace(step, reuses=False)


def none_pinned(step: Evaluation) -> Evaluation:
    """A request that is pinned to its slot evaluates its whole prompt; one that is not reuses what is there.

    The decoder claims nothing but what it does. A correct router pins all the same, counts on no cache behind a pin
    that the reply's timings do not show, and names the lost handoff.
    """
    return replace(step, reuses=False)


def then_reset(step: Evaluation) -> Evaluation:
    """The slot is emptied before the prompt is evaluated, and only what it had not held is: the rest was never seen.

    The decoder claims a finished answer, with `cache_n` 0 and the short tail as `prompt_n`; it is made from a part of
    the prompt. A correct router sees that both counters together
    are less than the prompt, and marks or fails the request.
    """
    return replace(step, attends=False)


def everything(step: Evaluation) -> Evaluation:
    """Where the slot holds the whole prompt nothing is evaluated, not even the last token: the first one out is wrong.

    The decoder claims a full hit: `cache_n` is the prompt's length and `prompt_n` 0. A correct router knows that one
    token is always evaluated, and does not count such a reply as a good handoff.
    """
    return replace(step, spares_last=True)


def previous(step: Evaluation) -> Evaluation:
    """The answer is made of the prompt that was evaluated before this one, with `cache_n` as that prompt had it.

    The decoder claims an answer to this prompt, status and form as ever. A correct router cannot read it, and keeps
    what it can: a lease for each slot, no slot for two requests, an erase where there is doubt. A gate sees it by the
    nonce in each prompt.
    """
    return replace(step, of_previous=True)


def wait(_: Decision) -> Decision:
    """The completion takes its slot and then waits for KV that never comes: no token, no error, no end.

    The decoder claims to be at work, and its slot is busy. A correct router does not start it before the rows are
    there; where it waits it closes the connection within its limits, which frees the slot.
    """
    return Stall()


FAULTS = (
    Fault(
        "reuse-none",
        Point.EVALUATE,
        none,
        reports=("ggml-org/llama.cpp#28194", "ggml-org/llama.cpp#26676"),
        fits=lambda step: step.held > 0,
    ),
    Fault(
        "reuse-not-pinned",
        Point.EVALUATE,
        none_pinned,
        reports=("ggml-org/llama.cpp#28139",),
        fits=lambda step: step.held > 0 and step.pinned,
    ),
    Fault(
        "reuse-then-reset",
        Point.EVALUATE,
        then_reset,
        reports=("1bit-MONSTER/1bit-MONSTER#2145",),
        fits=lambda step: step.held > 0,
    ),
    Fault(
        "reuse-everything",
        Point.EVALUATE,
        everything,
        reports=("LMCache/LMCache#4614",),
        fits=lambda step: step.held >= step.n_prompt,
    ),
    Fault(
        "answer-previous",
        Point.EVALUATE,
        previous,
        reports=("ggml-org/llama.cpp#27148", "vllm-project/vllm#52234", "sgl-project/sglang#24527"),
        fits=lambda step: step.has_previous,
    ),
    Fault("wait-for-kv", Point.STARTED, wait, reports=("sgl-project/sglang#29017",)),
)
