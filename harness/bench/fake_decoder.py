"""The fake decoder: how soon it is healthy, and its throughput against a handler that answers canned bytes."""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Sequence
from urllib.request import Request, urlopen

from harness.bench.load import Load, post, run
from harness.bench.page import Row, at_least, at_most
from harness.bench.stage import Server, Stage

CONNECTIONS = 32
_ROUNDS = 3
_CHAT = "/v1/chat/completions"
_STREAM_TOKENS = 256
_TIMEOUT_S = 60.0
_FULL_SLOTS, _SLOT_TOKENS, _PROMPT_TOKENS, _AT_ONCE = 64, 32_000, 31_900, 8


def chat_body(slot: int, max_tokens: int, *, stream: bool = False) -> dict[str, object]:
    """A chat of its own for each slot, so that its prompt is in the slot from the second request on."""
    words = " ".join(f"otter {slot} counts {n}" for n in range(8))
    body: dict[str, object] = {"messages": [{"role": "user", "content": words}], "max_tokens": max_tokens}
    return {**body, "temperature": 0, "id_slot": slot, "stream": stream}


async def startup(stage: Stage) -> list[Row]:
    servers = [await stage.decoder("--parallel", "2", "-c", "4096") for _ in range(5)]
    times = [server.ready_s for server in servers]
    for server in servers:
        await server.process.end()
    return [at_most("fake decoder: start to healthy", 0.35, statistics.median(times), " s", "median of 5 starts")]


async def throughput(stage: Stage) -> list[Row]:
    decoder = await stage.decoder("--parallel", str(CONNECTIONS), "-c", str(CONNECTIONS * 1024))
    whole = [post(_CHAT, chat_body(slot, 16)) for slot in range(CONNECTIONS)]
    streamed = [post(_CHAT, chat_body(slot, _STREAM_TOKENS, stream=True)) for slot in range(CONNECTIONS)]
    body = await asyncio.to_thread(_answer, decoder, chat_body(0, 16))
    reference = await stage.canned(body, _STREAM_TOKENS)
    json_pairs = await _pairs(decoder, whole, reference, "/json", 200)
    stream_pairs = await _pairs(decoder, streamed, reference, "/stream", 10)
    await decoder.process.end()
    await reference.process.end()
    chat = statistics.median(ours.requests_per_s / theirs.requests_per_s for ours, theirs in json_pairs)
    chunks = statistics.median(ours.events_per_s / theirs.events_per_s for ours, theirs in stream_pairs)
    per_s = statistics.median(ours.requests_per_s for ours, _ in json_pairs)
    chunks_per_s = statistics.median(ours.events_per_s for ours, _ in stream_pairs)
    how = f"{CONNECTIONS} connections, median of {_ROUNDS} interleaved rounds"
    return [
        at_least(
            "fake decoder: chat completions, against canned bytes", 0.2, chat, "", f"{how}; {per_s:.0f} requests/s"
        ),
        at_least(
            "fake decoder: streamed chunks, against canned bytes",
            0.3,
            chunks,
            "",
            f"{how}; {chunks_per_s:.0f} chunks/s",
        ),
    ]


async def memory(stage: Stage) -> list[Row]:
    """Every slot as full as it goes, each with a prompt of its own."""
    decoder = await stage.decoder("--parallel", str(_FULL_SLOTS), "-c", str(_FULL_SLOTS * _SLOT_TOKENS))
    for first in range(0, _FULL_SLOTS, _AT_ONCE):
        load = await asyncio.to_thread(run, decoder.port, [_full(slot) for slot in range(first, first + _AT_ONCE)], 1)
        if load.failed:
            raise RuntimeError(f"{load.failed} of {_AT_ONCE} prompts of {_PROMPT_TOKENS} tokens failed")
    held = decoder.resident_bytes / 1e6
    await decoder.process.end()
    what = f"fake decoder: memory with {_FULL_SLOTS} slots of {_SLOT_TOKENS} tokens"
    return [at_most(what, 400, held, " MB", f"resident, after a prompt of {_PROMPT_TOKENS} tokens in each")]


def _full(slot: int) -> bytes:
    prompt = [1, *((slot * 7 + n) % 200 + 10 for n in range(_PROMPT_TOKENS - 1))]
    return post("/completion", {"prompt": prompt, "id_slot": slot, "n_predict": 1, "temperature": 0})


async def _pairs(
    decoder: Server, requests: Sequence[bytes], reference: Server, path: str, count: int
) -> list[tuple[Load, Load]]:
    canned = [post(path, {"messages": []})] * CONNECTIONS
    await asyncio.to_thread(run, decoder.port, requests, 2)
    pairs = []
    for _ in range(_ROUNDS):
        ours = await asyncio.to_thread(run, decoder.port, requests, count)
        theirs = await asyncio.to_thread(run, reference.port, canned, count)
        if ours.failed or theirs.failed:
            raise RuntimeError(f"{ours.failed} requests to the fake and {theirs.failed} to the reference failed")
        pairs.append((ours, theirs))
    return pairs


def _answer(server: Server, body: dict[str, object]) -> bytes:
    request = Request(server.url + _CHAT, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=_TIMEOUT_S) as reply:
        return bytes(reply.read())
