"""Section 6.2 and 6.3: POST /completion, streamed."""

from __future__ import annotations

from typing import Any

from harness.conform.clause import Clause, demand, expect, probed
from harness.conform.match import keys
from harness.conform.target import Target, completion
from harness.conform.wire_client import Talk, post

_PARTIAL = keys("index content tokens stop id_slot tokens_predicted tokens_evaluated")
_LAST = keys(
    "index content tokens id_slot stop model tokens_predicted tokens_evaluated generation_settings prompt has_new_line"
    " truncated stop_type stopping_word tokens_cached timings"
)


async def _frames(t: Target, n_predict: int = 5, n_prompt: int = 8, **fields: Any) -> list[Any]:
    return (await t.stream("/completion", completion(t.prompt(n_prompt), n_predict, **fields))).frames


async def partial_keys(t: Target) -> None:
    """A partial frame has seven keys, in their order."""
    for frame in (await _frames(t))[:-1]:
        expect(frame, _PARTIAL, "a frame")


async def partial_values(t: Target) -> None:
    """A partial frame holds one token, id_slot -1, and counts up."""
    frames = (await _frames(t))[:-1]
    for frame in frames:
        expect(frame, {"stop": False, "id_slot": -1, "tokens": [int], "tokens_evaluated": 8, "index": 0}, "a frame")
    counts = [frame["tokens_predicted"] for frame in frames]
    demand(counts == sorted(set(counts)) and counts[-1] <= 5, f"tokens_predicted goes {counts}")


async def last_keys(t: Target) -> None:
    """The last frame is the whole object, in its order."""
    expect((await _frames(t))[-1], _LAST, "the last frame")


async def last_values(t: Target) -> None:
    """The last frame has no content, no tokens, the real slot and stop true."""
    last = (await _frames(t, id_slot=1))[-1]
    expect(last, {"content": "", "tokens": [], "id_slot": 1, "stop": True, "tokens_predicted": 5}, "the last frame")


async def no_done(t: Target) -> None:
    """There is no [DONE]."""
    demand("[DONE]" not in await _frames(t), "it is there")


async def same_text(t: Target) -> None:
    """The pieces together are what is not streamed."""
    prompt = t.prompt(8)
    whole = await t.complete(prompt, 6, return_tokens=True)
    frames = (await t.stream("/completion", completion(prompt, 6))).frames
    expect("".join(frame["content"] for frame in frames), whole["content"], "the text")


async def timings_per_token(t: Target) -> None:
    """With timings_per_token every frame has timings."""
    for frame in await _frames(t, timings_per_token=True):
        expect(frame, {"timings": {"predicted_n": int, "prompt_n": 8}}, "a frame")


async def timings_of_progress(t: Target) -> None:
    """With both, progress frames have timings too, which begin at nothing."""
    first, *_ = await _frames(t, return_progress=True, timings_per_token=True)
    expect(first, {"prompt_progress": {"processed": 0}, "timings": {"prompt_n": 0, "prompt_ms": 0.0, "predicted_n": 0}})


async def no_timings(t: Target) -> None:
    """Without it only the last has."""
    *frames, last = await _frames(t)
    demand(not any("timings" in frame for frame in frames) and "timings" in last, "it is otherwise")


async def probabilities(t: Target) -> None:
    """With n_probs a partial frame has completion_probabilities of one, and the last has none."""
    *frames, last = await _frames(t, n_probs=2)
    for frame in frames:
        expect(frame, {"completion_probabilities": [{"id": int, "logprob": float, "top_logprobs": [dict, dict]}]})
    demand("completion_probabilities" not in last, "the last frame has them")


async def last_obeys_fields(t: Target) -> None:
    """The last frame obeys response_fields."""
    last = (await _frames(t, response_fields=["tokens_predicted"]))[-1]
    expect(last, keys("tokens_predicted"), "the last frame")


async def stop_is_held_back(t: Target) -> None:
    """Text that may become a stop word is held back, and none of it is sent."""
    prompt = t.prompt(8)
    content = (await t.complete(prompt, 6))["content"]
    stop = content[3 : len(content) - 2]
    frames = (await t.stream("/completion", completion(prompt, 6, stop=[stop]))).frames
    expect("".join(frame["content"] for frame in frames), content[: content.find(stop)], "the text")
    expect(frames[-1], {"stop_type": "word", "stopping_word": stop}, "the last frame")


async def headers_first(t: Target) -> None:
    """A queued stream shows nothing until its slot starts it."""
    async with t.working(0) as owner, await Talk.open(t.url) as talk:
        body = completion(t.prompt(8), 1, id_slot=0, stream=True)
        await talk.send(t.dressed(post("/completion", body)).encoded())
        await _deferred(t, 1)
        await owner.chunk()
        shown = talk.buffered
        owner.close()
        expect((await talk.read_head()).status, 200, "its status, later")
    expect(shown, 0, "the bytes that came while it waited")


async def _deferred(t: Target, count: int) -> None:
    from harness.conform.clauses.metrics import value

    async def there() -> bool:
        return await value(t, "requests_deferred") == count

    await t.until(f"{count} deferred requests in /metrics", there)


async def progress(t: Target) -> None:
    """return_progress begins with frames that have prompt_progress, before any work."""
    frames = await _frames(t, 2, 40, return_progress=True)
    first = frames[0]
    like = {"content": "", "tokens": [0], "prompt_progress": {"total": 40, "cache": 0, "processed": 0, "time_ms": int}}
    expect(first, like, "the first frame")


async def progress_ends(t: Target) -> None:
    """The last of them has processed all of the prompt."""
    found = [
        frame["prompt_progress"]
        for frame in await _frames(t, 2, 40, return_progress=True)
        if "prompt_progress" in frame
    ]
    expect(found[-1], {"total": 40, "processed": 40}, "the last progress")


async def progress_batches(t: Target) -> None:
    """There is one for each batch of -b tokens."""
    frames = await _frames(t, 2, 150, return_progress=True, id_slot=0)
    done = [frame["prompt_progress"]["processed"] for frame in frames if "prompt_progress" in frame]
    expect(done, [0, 64, 128, 150], "processed")


async def progress_counts_cached(t: Target) -> None:
    """processed includes what was cached."""
    prompt = t.prompt(40)
    await t.complete(prompt, 1, id_slot=0)
    body = completion([*prompt, *t.prompt(10)], 2, id_slot=0, return_progress=True)
    frames = (await t.stream("/completion", body)).frames
    expect(frames[0]["prompt_progress"], {"total": 50, "cache": 40, "processed": 40}, "the first progress")


async def several(t: Target) -> None:
    """Several prompts share a stream, told apart by index."""
    found = (await t.stream("/completion", completion([t.prompt(5), t.prompt(6)], 3))).frames
    frames = [frame for frame in found if frame is not None]
    last = sorted((frame["index"], frame["tokens_evaluated"]) for frame in frames if frame["stop"])
    demand(last == [(0, 5), (1, 6)], f"the last frames have index and tokens_evaluated {last}")


async def joins(t: Target) -> None:
    """Of several prompts each but the first says null when it gets its slot, or nothing where progress is asked for."""
    body = completion([t.prompt(5), t.prompt(7), t.prompt(6)], 3)
    frames = (await t.stream("/completion", body)).frames
    demand(frames.count(None) == 2, f"{frames.count(None)} of {len(frames)} frames are null")
    demand(None not in (await t.stream("/completion", {**body, "return_progress": True})).frames, "one says so")


async def error_before(t: Target) -> None:
    """A bad field of a stream is plain JSON, no event stream."""
    answer = await t.ask(post("/completion", completion([400], "x", stream=True)))  # type: ignore[arg-type]
    expect(answer.status, 400, "the status")
    expect(answer.json["error"], {"code": 400}, "error")


CLAUSES: tuple[Clause, ...] = (
    *probed(
        "6.2",
        partial_keys,
        partial_values,
        last_keys,
        last_values,
        no_done,
        same_text,
        timings_per_token,
        timings_of_progress,
        no_timings,
        probabilities,
        last_obeys_fields,
        stop_is_held_back,
        headers_first,
        progress,
        progress_ends,
        progress_counts_cached,
        several,
        joins,
        error_before,
    ),
    *probed("6.2", progress_batches, setting="keys"),
)
