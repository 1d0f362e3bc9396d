"""Section 10: GET /metrics."""

from __future__ import annotations

import re

from harness.conform.clause import Clause, demand, expect, probed
from harness.conform.target import Target
from harness.conform.wire_client import get

_COUNTERS = [
    "prompt_tokens_total",
    "prompt_tokens_cached_total",
    "prompt_seconds_total",
    "tokens_predicted_total",
    "tokens_predicted_seconds_total",
    "n_decode_total",
    "n_tokens_max",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_drafts_total",
]
_GAUGES = [
    "prompt_tokens_seconds",
    "predicted_tokens_seconds",
    "requests_processing",
    "requests_deferred",
    "n_busy_slots_per_decode",
]


async def _page(t: Target) -> str:
    return (await t.ask(get("/metrics"))).body.decode()


async def value(t: Target, name: str) -> float:
    """One of the numbers now."""
    found = re.search(rf"^llamacpp:{name} (\S+)$", await _page(t), re.MULTILINE)
    demand(found, f"there is no llamacpp:{name}")
    assert found is not None
    return float(found[1])


async def head(t: Target) -> None:
    """/metrics is Prometheus' text of version 0.0.4, with the process's start in a header."""
    answer = await t.ask(get("/metrics"))
    expect(answer.header("Content-Type"), "text/plain; version=0.0.4", "Content-Type")
    expect(answer.header("Process-Start-Time-Unix"), re.compile(r"\d+"), "Process-Start-Time-Unix")


async def head_order(t: Target) -> None:
    """That header stands before Content-Type."""
    names = (await t.ask(get("/metrics"))).names
    demand(
        names.index("Process-Start-Time-Unix") == names.index("Content-Type") - 1,
        f"the headers are {names}",
    )


async def _listed(t: Target, names: list[str], kind: str) -> None:
    page = await _page(t)
    missing = [name for name in names if f"# TYPE llamacpp:{name} {kind}\n" not in page]
    demand(not missing, f"it lacks {missing}")
    bare = [name for name in names if f"# HELP llamacpp:{name} " not in page]
    demand(not bare, f"there is no help for {bare}")


async def counters(t: Target) -> None:
    """It has the counters of the document, each with help and type."""
    await _listed(t, _COUNTERS, "counter")


async def gauges(t: Target) -> None:
    """It has the gauges of the document, each with help and type."""
    await _listed(t, _GAUGES, "gauge")


async def counts(t: Target) -> None:
    """The counters grow by what was evaluated, cached and predicted."""
    names = ("prompt_tokens_total", "prompt_tokens_cached_total", "tokens_predicted_total")
    prompt = t.prompt(20)
    await t.complete(prompt, 1, id_slot=0, cache_prompt=False)
    before = [await value(t, name) for name in names]
    await t.complete(prompt, 5, id_slot=0)
    after = [await value(t, name) for name in names]
    grown = [int(b - a) for a, b in zip(before, after, strict=True)]
    expect(grown, [1, 19, 5], "how much they grew")


async def processing(t: Target) -> None:
    """requests_processing is how many slots work."""
    expect(await value(t, "requests_processing"), 0.0, "requests_processing when idle")
    async with t.working(0):
        expect(await value(t, "requests_processing"), 1.0, "requests_processing")


async def no_usage_gauge(t: Target) -> None:
    """There is no kv_cache_usage gauge."""
    demand("kv_cache_usage" not in await _page(t), "there is one")


CLAUSES: tuple[Clause, ...] = probed("10", head, head_order, counters, gauges, counts, processing, no_usage_gauge)
