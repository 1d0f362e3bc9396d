"""Section 7: POST /v1/chat/completions."""

from __future__ import annotations

import re
from typing import Any

from harness.conform.clause import Clause, demand, expect, probed, refused
from harness.conform.match import keys
from harness.conform.target import Target, chat
from harness.conform.wire_client import post

_PATH = "/v1/chat/completions"
_KEYS = keys("choices created model system_fingerprint object usage id timings")
_ID = re.compile(r"chatcmpl-[A-Za-z0-9]{32}")
_FRAME = keys("choices created id model system_fingerprint object")


async def _whole(t: Target, **fields: Any) -> dict[str, Any]:
    return dict(await t.json(post(_PATH, chat(**fields))))


async def _frames(t: Target, **fields: Any) -> list[Any]:
    return (await t.stream(_PATH, chat(**fields))).frames


async def shape(t: Target) -> None:
    """A chat answer has the keys of the document in their order."""
    expect(await _whole(t), _KEYS)


async def values(t: Target) -> None:
    """It is a chat.completion of the server's model, with an id of its own."""
    like = {"object": "chat.completion", "model": "conform", "id": _ID, "created": int}
    first, second = await _whole(t, model="another"), await _whole(t)
    expect(first, like)
    demand(first["id"] != second["id"], "two answers have the same id")


async def choice(t: Target) -> None:
    """Its choice has finish_reason, index and a message of role and content, and no tool_calls."""
    choices = (await _whole(t))["choices"]
    expect(choices, [keys("finish_reason index message")], "choices")
    message = {"role": "assistant", "content": str}
    expect(choices, [{"finish_reason": "length", "index": 0, "message": message}], "choices")
    demand("tool_calls" not in choices[0]["message"], "there are tool_calls")


async def usage(t: Target) -> None:
    """usage is as with texts, and cached_tokens is timings.cache_n."""
    await _whole(t, id_slot=0)
    found = await _whole(t, id_slot=0)
    n_prompt, cached = found["usage"]["prompt_tokens"], found["timings"]["cache_n"]
    like = {"completion_tokens": 4, "total_tokens": n_prompt + 4, "prompt_tokens_details": {"cached_tokens": cached}}
    expect(found["usage"], like, "usage")
    expect(cached, n_prompt - 1, "cache_n")


async def no_slot(t: Target) -> None:
    """The answer does not tell the slot."""
    demand("id_slot" not in await _whole(t, id_slot=0), "it does")


async def pinned(t: Target) -> None:
    """id_slot passes straight through."""
    await t.emptied()
    await _whole(t, id_slot=0)
    expect([slot.get("n_prompt_tokens", 0) > 0 for slot in await t.slots()], [True, False], "which slots hold tokens")


async def limit_names(t: Target) -> None:
    """n_predict and max_completion_tokens mean max_tokens."""
    for name in ("n_predict", "max_completion_tokens"):
        body = {**chat(), name: 2}
        del body["max_tokens"]
        expect((await t.json(post(_PATH, body)))["usage"]["completion_tokens"], 2, "completion_tokens")


async def opening(t: Target) -> None:
    """A stream opens with role assistant and content null."""
    first = (await _frames(t))[0]
    expect(first, _FRAME, "the first frame")
    delta = {"role": "assistant", "content": None}
    expect(first, {"choices": [{"finish_reason": None, "index": 0, "delta": delta}]}, "the first frame")
    expect(first["object"], "chat.completion.chunk", "object")


async def pieces(t: Target) -> None:
    """Then come pieces of content alone, which together are what is not streamed."""
    whole = (await _whole(t, text="Say seven."))["choices"][0]["message"]["content"]
    frames = (await _frames(t, text="Say seven."))[1:-2]
    for frame in frames:
        expect(frame["choices"][0]["delta"], keys("content"), "a delta")
    expect("".join(frame["choices"][0]["delta"]["content"] for frame in frames), whole, "the content")


async def closing(t: Target) -> None:
    """Then an empty delta with the finish reason and the timings, and [DONE]."""
    *_, last, done = await _frames(t)
    expect(done, "[DONE]", "the last event")
    expect(last["choices"], [{"finish_reason": "length", "index": 0, "delta": {}}], "the last frame")
    expect(last, {"timings": {"predicted_n": 4}}, "the last frame")


async def no_usage(t: Target) -> None:
    """Without include_usage no frame has usage."""
    demand(not any("usage" in frame for frame in (await _frames(t))[:-1]), "one has")


async def include_usage(t: Target) -> None:
    """With include_usage a frame without choices brings usage and timings, after the one with the reason."""
    *_, reason, last, done = await _frames(t, stream_options={"include_usage": True})
    expect(reason["choices"], [{"finish_reason": "length"}], "the frame before it")
    expect(last, {"choices": [], "usage": {"completion_tokens": 4}, "timings": {"predicted_n": 4}}, "the usage frame")
    demand("timings" not in reason, "the frame before it has timings")
    expect(done, "[DONE]", "the last event")


async def one_id(t: Target) -> None:
    """All frames of an answer share id, created and model."""
    found = {(frame["id"], frame["created"], frame["model"]) for frame in (await _frames(t))[:-1]}
    demand(len(found) == 1, f"they are {found}")


async def progress(t: Target) -> None:
    """Progress frames look like the opening one, and come before it."""
    frames = await _frames(t, return_progress=True)
    expect(frames[0], {"prompt_progress": {"total": int, "processed": int}, "object": "chat.completion.chunk"})
    expect(frames[0]["choices"], [{"delta": {"role": "assistant", "content": None}}], "choices")


async def logprobs(t: Target) -> None:
    """logprobs with top_logprobs 2 adds an entry for each token."""
    choice = (await _whole(t, logprobs=True, top_logprobs=2))["choices"][0]
    content = choice["logprobs"]["content"]
    expect(len(content), 4, "how many there are")
    for each in content:
        expect(each, keys("id token bytes logprob top_logprobs"), "an entry")
        expect(each["top_logprobs"], [dict, dict], "top_logprobs")


async def logprobs_streamed(t: Target) -> None:
    """Streamed, each piece of text has its own."""
    frames = await _frames(t, logprobs=True, top_logprobs=2)
    pieces = [frame for frame in frames[:-1] if frame["choices"] and frame["choices"][0]["delta"].get("content")]
    for frame in pieces:
        expect(frame["choices"][0], {"logprobs": {"content": [{"id": int, "logprob": float}]}}, "a choice")
    demand(pieces, "there is no piece of text")


async def continued(t: Target) -> None:
    """A last message of the assistant is continued, and repeated at the start of the content."""
    messages = [{"role": "user", "content": "Name a river."}, {"role": "assistant", "content": "The long river"}]
    found = await t.json(post(_PATH, {**chat(), "messages": messages}))
    content = found["choices"][0]["message"]["content"]
    demand(content.startswith("The long river"), f"the content is {content!r}")


async def two_choices(t: Target) -> None:
    """n 2 gives two choices, and usage counts the first alone."""
    found = await _whole(t, n=2)
    expect([each["index"] for each in found["choices"]], [0, 1], "the indexes")
    expect(found["usage"]["completion_tokens"], 4, "completion_tokens")


async def parts(t: Target) -> None:
    """Content may be a list of text parts."""
    parts = [{"type": "text", "text": "Name a "}, {"type": "text", "text": "river."}]
    body = {**chat(), "messages": [{"role": "user", "content": parts}]}
    expect(await t.json(post(_PATH, body)), {"object": "chat.completion"})


async def stop_reason(t: Target) -> None:
    """finish_reason of a chat is stop after a stop word."""
    content = (await _whole(t, n_predict=6))["choices"][0]["message"]["content"]
    found = await _whole(t, n_predict=6, stop=[content[2:5]])
    expect(found["choices"][0]["finish_reason"], "stop", "finish_reason")


async def timings_per_token(t: Target) -> None:
    """timings_per_token passes straight through."""
    frames = await _frames(t, timings_per_token=True)
    pieces = [frame for frame in frames[:-1] if frame["choices"] and frame["choices"][0]["delta"].get("content")]
    for frame in pieces:
        expect(frame, {"timings": {"predicted_n": int}}, "a piece")


CLAUSES: tuple[Clause, ...] = (
    *probed("7", shape, values, choice, usage, no_slot, pinned, limit_names, opening, pieces, closing, no_usage),
    *probed("7", include_usage, one_id, progress, logprobs, logprobs_streamed, continued, two_choices, parts),
    *probed("7", stop_reason, timings_per_token),
    refused(
        "7",
        "n above the number of slots is refused",
        post(_PATH, {**chat(), "n": 3}),
        400,
        "invalid_request_error",
        "Field 'n': Value must be between 1 <= value <= 2, but got 3",
    ),
    refused(
        "7",
        "top_logprobs without logprobs is refused",
        post(_PATH, {**chat(), "top_logprobs": 2}),
        400,
        "invalid_request_error",
        "top_logprobs requires logprobs to be set to true",
    ),
)
