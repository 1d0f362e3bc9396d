"""A decoder that works as it should and tells something else: counters, listings, counts of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fakes.effects import Reply
from fakes.fault import Fault, Value, one_of, whole_number
from fakes.point import Point
from fakes.steps import Counted, StreamEdit, StreamOut


def lie(step: Counted, how: str) -> Counted:
    """`timings` say that all was reused, that nothing was, a token less or more than the prompt has, or less than none.

    The decoder claims it in the very reply; what it did is in the journal. A correct router holds the counters against
    the prompt's length: it cannot see the first two, and marks a sum that is not the prompt's.
    """
    total = step.cache_n + step.prompt_n
    return {
        "used": Counted(total - 1, 1),
        "unused": Counted(0, total),
        "less": replace(step, prompt_n=step.prompt_n - 1),
        "more": replace(step, prompt_n=step.prompt_n + 1),
        "negative": Counted(-1, total),
    }[how]


def no_timings(reply: Reply) -> Reply:
    """The answer is right and has no `timings`.

    The decoder says nothing of what it reused. A correct router counts such a handoff as unknown, neither as used nor
    as lost, and passes the answer on.
    """
    return _edited(reply, lambda body: body.pop("timings", None))


def stream_no_timings(out: StreamOut) -> StreamOut:
    """Every event of the stream comes, and none has `timings`.

    The decoder says nothing of what it reused. A correct router counts such a handoff as unknown, neither as used nor
    as lost, and passes the stream on.
    """
    return replace(out, edits=(*out.edits, _NoTimings()))


class _NoTimings(StreamEdit):
    def event(self, index: int, data: bytes) -> tuple[bytes]:
        if b'"timings"' not in data:
            return (data,)
        value = json.loads(data.removeprefix(b"data: "))
        value.pop("timings", None)
        return (b"data: " + json.dumps(value).encode() + b"\n\n",)


def usage(reply: Reply, cached: int) -> Reply:
    """`usage` says so many cached tokens, whatever `timings` in the same answer say.

    The decoder contradicts itself. A correct router proves a handoff by `timings` alone, and hands `usage` on as it is.
    """

    def edit(body: Any) -> None:
        body["usage"]["prompt_tokens_details"]["cached_tokens"] = cached

    return _edited(reply, edit)


def listing(reply: Reply, how: str) -> Reply:
    """`/slots` shows every slot idle, busy, or full of tokens, whatever is true; or it lacks the last slot, or all.

    The decoder claims it, 200. A correct router takes no listing for evidence that rows are there or that a slot is
    free, and believes its own leases.
    """
    return _edited(reply, _LISTINGS[how])


def props_slots(reply: Reply, count: int) -> Reply:
    """`/props` says another `total_slots` than there are.

    The decoder claims slots that it lacks, and wraps their ids without a word. A correct router holds the number
    against `/slots`, or sees by the counters of a reply that a pin went elsewhere.
    """
    return _edited(reply, lambda body: body.__setitem__("total_slots", count))


def tokenize_differs(reply: Reply, how: str) -> Reply:
    """`/tokenize` answers tokens that a completion will not have: without the first, without the last, or one more.

    The decoder claims that these are the prompt's. A correct router hands over what it was told; it sees by the
    counters of the reply that the handed-over KV was not used, or not to its end, and says so.
    """
    return _edited(reply, _TOKENS[how])


def template_differs(reply: Reply) -> Reply:
    """`/apply-template` answers another prompt than the chat endpoint makes of the same messages: a word more.

    The decoder claims that it is the prompt. A correct router hands over what it was told, forwards the client's own
    messages, and names how far the handed-over KV was used.
    """
    return _edited(reply, lambda body: body.__setitem__("prompt", "Well, " + body["prompt"]))


def _edited(reply: Reply, edit: Callable[[Any], Any]) -> Reply:
    """The answer with its JSON changed in place; one that is an error stays as it is."""
    if reply.status != 200:
        return reply
    body = json.loads(reply.body)
    edit(body)
    return replace(reply, body=json.dumps(body).encode())


def _each(**fields: Any) -> Callable[[Any], None]:
    def edit(slots: Any) -> None:
        for slot in slots:
            slot |= {name: slot["n_ctx"] if value is None else value for name, value in fields.items()}

    return edit


_LISTINGS: dict[str, Callable[[Any], None]] = {
    "idle": _each(is_processing=False),
    "busy": _each(is_processing=True),
    "full": _each(n_prompt_tokens=None),
    "fewer": lambda slots: slots.pop(),
    "none": lambda slots: slots.clear(),
}
_TOKENS: dict[str, Callable[[Any], None]] = {
    "no-first": lambda body: body.__setitem__("tokens", body["tokens"][1:]),
    "no-last": lambda body: body.__setitem__("tokens", body["tokens"][:-1]),
    "one-more": lambda body: body.__setitem__("tokens", [*body["tokens"], *body["tokens"][-1:]]),
}


def _is_answer(reply: Reply) -> bool:
    return reply.status == 200


def _has_usage(reply: Reply) -> bool:
    return _is_answer(reply) and b'"usage"' in reply.body


FAULTS = (
    Fault(
        "counters-lie",
        Point.COUNTED,
        lie,
        Value(
            one_of("used", "unused", "less", "more", "negative"), "used", "what: used, unused, less, more or negative"
        ),
        ("ggml-org/llama.cpp#27148", "1bit-MONSTER/1bit-MONSTER#2145"),
    ),
    Fault(
        "reply-no-timings",
        Point.RESPONSE,
        no_timings,
        reports=("LMCache/LMCache#1547",),
        ops=("completion",),
        fits=_is_answer,
    ),
    Fault("stream-no-timings", Point.STREAM, stream_no_timings, reports=("LMCache/LMCache#1547",)),
    Fault(
        "usage-lies",
        Point.RESPONSE,
        usage,
        Value(whole_number(0, 1 << 30), 0, "cached tokens that it says"),
        ("ggml-org/llama.cpp#27148", "sgl-project/sglang#7147"),
        ops=("completion",),
        fits=_has_usage,
    ),
    Fault(
        "slots-listing",
        Point.RESPONSE,
        listing,
        Value(one_of(*_LISTINGS), "idle", "what it shows: idle, busy, full, fewer or none"),
        ("ggml-org/llama.cpp#26676", "ggml-org/llama.cpp#24496"),
        ops=("slots",),
        fits=_is_answer,
    ),
    Fault(
        "props-slots",
        Point.RESPONSE,
        props_slots,
        Value(whole_number(1, 1 << 20), 64, "slots that it says"),
        ("antoinezambelli/forge#155",),
        ops=("props",),
        fits=_is_answer,
    ),
    Fault(
        "tokenize-differs",
        Point.RESPONSE,
        tokenize_differs,
        Value(one_of(*_TOKENS), "no-first", "how: no-first, no-last or one-more"),
        ("ddvnguyen/hydra_vortex#470", "LMCache/LMCache#4614"),
        ops=("tokenize",),
        fits=_is_answer,
    ),
    Fault(
        "template-differs",
        Point.RESPONSE,
        template_differs,
        reports=("vllm-project/vllm-ascend#13466", "ddvnguyen/llama.cpp#77"),
        ops=("apply-template",),
        fits=_is_answer,
    ),
)
