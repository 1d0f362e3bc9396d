"""Section 7: POST /v1/completions."""

from __future__ import annotations

import re
from typing import Any

from harness.conform.clause import Clause, demand, expect, probed, row
from harness.conform.match import keys
from harness.conform.target import Target, completion
from harness.conform.wire_client import post

_PATH = "/v1/completions"
_KEYS = keys("choices created model system_fingerprint object usage id timings")
_ID = re.compile(r"chatcmpl-[A-Za-z0-9]{32}")


async def _whole(t: Target, prompt: Any, n: int = 3, **fields: Any) -> dict[str, Any]:
    return dict(await t.json(post(_PATH, completion(prompt, n, **fields))))


async def shape(t: Target) -> None:
    """A text answer has the keys of the document in their order."""
    expect(await _whole(t, t.prompt(6)), _KEYS)


async def values(t: Target) -> None:
    """It is a text_completion of the server's model, with an id that begins with chatcmpl-."""
    like = {"object": "text_completion", "model": "conform", "id": _ID, "created": int, "system_fingerprint": str}
    expect(await _whole(t, t.prompt(6), model="another"), like)


async def choice(t: Target) -> None:
    """Its one choice has text, index, logprobs and finish_reason, length at the limit."""
    choices = (await _whole(t, t.prompt(6)))["choices"]
    expect(choices, [keys("text index logprobs finish_reason")], "choices")
    expect(choices, [{"text": str, "index": 0, "logprobs": None, "finish_reason": "length"}], "choices")


async def usage(t: Target) -> None:
    """usage counts prompt, completion, both, and what was cached."""
    prompt = t.prompt(20)
    await _whole(t, prompt, id_slot=0)
    found = await _whole(t, prompt, id_slot=0)
    like = {"completion_tokens": 3, "prompt_tokens": 20, "total_tokens": 23}
    expect(found["usage"], keys("completion_tokens prompt_tokens total_tokens prompt_tokens_details"), "usage")
    expect(found["usage"], {**like, "prompt_tokens_details": {"cached_tokens": 19}}, "usage")
    expect(found["timings"], {"cache_n": 19, "prompt_n": 1}, "timings")


async def stop_reason(t: Target) -> None:
    """finish_reason of a text is stop after a stop word."""
    prompt = t.prompt(8)
    content = (await t.complete(prompt, 6))["content"]
    found = await _whole(t, prompt, 6, stop=[content[2:6]])
    expect(found["choices"], [{"finish_reason": "stop", "text": content[: content.find(content[2:6])]}], "choices")


async def stream(t: Target) -> None:
    """A stream's frames are text_completion objects that share an id, without usage and timings before the last."""
    frames = (await t.stream(_PATH, completion(t.prompt(6), 3))).frames
    expect(frames[-1], "[DONE]", "the last event")
    pieces = frames[:-2]
    demand(len({frame["id"] for frame in frames[:-1]}) == 1, "they have several ids")
    for frame in pieces:
        expect(frame, {"object": "text_completion", "choices": [{"finish_reason": None, "text": str}]}, "a frame")
        demand("usage" not in frame and "timings" not in frame, "a piece has usage or timings")
    demand(pieces, "there is one frame only")


async def stream_last(t: Target) -> None:
    """Its last data frame has an empty text, the reason, usage and timings, asked for or not."""
    last = (await t.stream(_PATH, completion(t.prompt(6), 3))).frames[-2]
    like = {
        "choices": [{"text": "", "finish_reason": "length"}],
        "usage": {"prompt_tokens": 6, "completion_tokens": 3, "total_tokens": 9},
        "timings": {"predicted_n": 3},
    }
    expect(last, like, "the last data frame")


async def stream_text(t: Target) -> None:
    """Its pieces together are what is not streamed."""
    prompt = t.prompt(6)
    whole = (await _whole(t, prompt, 5))["choices"][0]["text"]
    frames = (await t.stream(_PATH, completion(prompt, 5))).frames[:-1]
    expect("".join(frame["choices"][0]["text"] for frame in frames), whole, "the text")


async def pinned(t: Target) -> None:
    """id_slot and cache_prompt pass straight through."""
    prompt = t.prompt(20)
    await _whole(t, prompt, id_slot=1)
    found = await _whole(t, prompt, id_slot=1, cache_prompt=False)
    expect(found["timings"], {"cache_n": 0, "prompt_n": 20}, "timings")
    expect((await t.slot(1))["n_prompt_tokens"], 22, "what slot 1 holds")


async def fields(t: Target) -> None:
    """response_fields has no effect."""
    expect(await _whole(t, t.prompt(6), response_fields=["content"]), _KEYS)


async def progress(t: Target) -> None:
    """return_progress passes straight through."""
    frames = (await t.stream(_PATH, completion(t.prompt(6), 3, return_progress=True))).frames
    expect(frames[0], {"prompt_progress": {"total": 6, "processed": 0}}, "the first frame")


async def echo(t: Target) -> None:
    """echo has no effect."""
    prompt = t.prompt(6)
    plain, echoed = [(await _whole(t, prompt, **more))["choices"][0]["text"] for more in ({}, {"echo": True})]
    expect(echoed, plain, "the text with echo")


async def logprobs(t: Target) -> None:
    """/v1/completions with logprobs 2 adds an entry for each token, with the likeliest two."""
    choice = (await _whole(t, t.prompt(6), logprobs=2))["choices"][0]
    content = choice["logprobs"]["content"]
    expect(len(content), 3, "how many there are")
    expect([len(each["top_logprobs"]) for each in content], [2, 2, 2], "how many of the likeliest")


async def logprobs_streamed(t: Target) -> None:
    """Its pieces have one entry each when streamed, and its last frame null."""
    frames = (await t.stream(_PATH, completion(t.prompt(6), 3, logprobs=1))).frames[:-1]
    for frame in frames[:-1]:
        expect(frame["choices"], [{"logprobs": {"content": [dict]}}], "choices")
    expect(frames[-1]["choices"], [{"logprobs": None}], "choices of the last")


CLAUSES: tuple[Clause, ...] = (
    *probed("7", shape, values, choice, usage, stop_reason, stream, stream_last, stream_text, pinned, fields),
    *probed("7", progress, echo, logprobs, logprobs_streamed),
    row(
        "7",
        "/v1/completions knows n_predict",
        post(_PATH, completion([400], 2)),
        like={"usage": {"completion_tokens": 2}},
    ),
)
