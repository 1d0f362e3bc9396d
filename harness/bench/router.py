"""The router: how soon it is healthy, what it adds to a request, what it holds back, what it keeps."""

from __future__ import annotations

import asyncio
import os
import shlex
import statistics
from dataclasses import dataclass

from harness.bench.fake_decoder import CONNECTIONS, chat_body
from harness.bench.load import Load, post, run
from harness.bench.page import Row, at_least, at_most
from harness.bench.stage import PYTHON, Server, Stage

_CHAT = "/v1/chat/completions"
_ROUNDS = 5
_ONE_BY_ONE = 300
_IN_ALL = 10_000
_FIRST = 1_000


@dataclass(frozen=True, slots=True)
class Pair:
    """A router and the decoder behind it."""

    router: Server
    decoder: Server

    async def end(self) -> None:
        await self.router.process.end()
        await self.decoder.process.end()


async def startup(stage: Stage) -> list[Row]:
    decoder = await stage.decoder("--parallel", "2", "-c", "4096")
    routers = [await stage.router("--decoder", decoder.url) for _ in range(5)]
    times = [router.ready_s for router in routers]
    for router in routers:
        await router.process.end()
    await decoder.process.end()
    what = "router: start to healthy before a ready decoder"
    return [at_most(what, 0.45, statistics.median(times), " s", "median of 5 starts")]


async def latency(stage: Stage) -> list[Row]:
    rows = []
    for tokenized, bound in ((False, 0.6), (True, 1.8)):
        pair = await _pair(stage, 2, tokenized=tokenized)
        how = f"one connection, median over {_ROUNDS} interleaved rounds of {_ONE_BY_ONE}"
        kind = "tokenized" if tokenized else "no tokenizing"
        added = await added_ms(pair, stream=False)
        rows.append(at_most(f"router: added latency, {kind}", bound, added, " ms", how))
        if not tokenized:
            added = await added_ms(pair, stream=True)
            rows.append(
                at_most("router: added time to the first streamed chunk, no tokenizing", 0.8, added, " ms", how)
            )
        await pair.end()
    return rows


async def throughput(stage: Stage) -> list[Row]:
    rows = []
    for tokenized, bound in ((False, 0.2), (True, 0.07)):
        pair = await _pair(stage, CONNECTIONS, tokenized=tokenized)
        requests = [chat(connection) for connection in range(CONNECTIONS)]
        await loaded(pair.router, requests, 3)
        ratios = []
        for _ in range(3):
            through = await loaded(pair.router, requests, 60)
            alone = await loaded(pair.decoder, requests, 60)
            ratios.append(through.requests_per_s / alone.requests_per_s)
        kind = "tokenized" if tokenized else "no tokenizing"
        how = f"{CONNECTIONS} connections, median of 3 interleaved rounds; {through.requests_per_s:.0f} requests/s"
        what = f"router: requests/s against the backend alone, {kind}"
        rows.append(at_least(what, bound, statistics.median(ratios), "", how))
        await pair.end()
    return rows


async def memory(stage: Stage) -> list[Row]:
    pair = await _pair(stage, CONNECTIONS, tokenized=True)
    requests = [chat(connection) for connection in range(CONNECTIONS)]
    await loaded(pair.router, requests, _FIRST // CONNECTIONS)
    early, open_early = pair.router.resident_bytes, _descriptors(pair.router)
    await loaded(pair.router, requests, (_IN_ALL - _FIRST) // CONNECTIONS)
    late, open_late = pair.router.resident_bytes, _descriptors(pair.router)
    await pair.end()
    how = f"{early / 2**20:.1f} MiB after {_FIRST}; descriptors {open_early} then {open_late}"
    growth = (late / early - 1) * 100
    return [at_most(f"router: memory after {_IN_ALL} requests, over that after {_FIRST}", 5, growth, " %", how)]


async def _pair(stage: Stage, slots: int, *, tokenized: bool) -> Pair:
    """With a provider the router reads every prompt's tokens; warm prompts are then not handed over."""
    saves = stage.file("slots")
    saves.mkdir(mode=0o700)
    decoder = await stage.decoder("--parallel", str(slots), "-c", str(slots * 1024), "--slot-save-path", str(saves))
    provider = ["--slot-save-path", str(saves), "--provider", shlex.join([PYTHON, "-m", "fakes.provider"])]
    flags = provider if tokenized else []
    return Pair(await stage.router("--decoder", decoder.url, *flags), decoder)


def chat(connection: int, *, stream: bool = False) -> bytes:
    """A chat of this connection's own, not pinned."""
    body = chat_body(connection, 16, stream=stream)
    del body["id_slot"]
    body["model"] = "toy"
    return post(_CHAT, body)


async def loaded(server: Server, requests: list[bytes], count: int) -> Load:
    """A load in which nothing failed."""
    load = await asyncio.to_thread(run, server.port, requests, count)
    if load.failed:
        raise RuntimeError(f"{load.failed} requests to {server.url} failed")
    return load


async def added_ms(pair: Pair, *, stream: bool) -> float:
    """What the router adds to one request at a time; for a stream, to its first byte."""
    request = [chat(0, stream=stream)]
    await loaded(pair.router, request, 20)
    added = []
    for _ in range(_ROUNDS):
        through = await loaded(pair.router, request, _ONE_BY_ONE)
        alone = await loaded(pair.decoder, request, _ONE_BY_ONE)
        if stream:
            added.append(through.first_byte_median_ms - alone.first_byte_median_ms)
        else:
            added.append(through.median_ms - alone.median_ms)
    return statistics.median(added)


def _descriptors(server: Server) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))
