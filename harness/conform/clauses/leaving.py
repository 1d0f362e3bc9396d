"""Section 6.4: the client goes away."""

from __future__ import annotations

from harness.conform.clause import Clause, demand, expect, probed
from harness.conform.clauses.metrics import value
from harness.conform.target import LONG_REPLY, Target, completion
from harness.conform.wire_client import Talk, post

_PROMPT = 40


async def closed_stream(t: Target) -> None:
    """Closing a stream frees its slot at the next token."""
    async with t.working(0):
        pass


async def kept(t: Target) -> None:
    """What was evaluated and generated stays in the slot, and is reused."""
    prompt = t.prompt(_PROMPT)
    async with t.working(0, prompt):
        pass
    held = (await t.slot(0))["n_prompt_tokens"]
    demand(held > _PROMPT, f"the slot holds {held} tokens")
    expect((await t.complete(prompt, 1, id_slot=0))["timings"], {"cache_n": _PROMPT - 1, "prompt_n": 1}, "timings")


async def half_closed(t: Target) -> None:
    """A half-closed stream counts as gone."""
    async with await Talk.open(t.url) as talk:
        body = completion(t.prompt(8), LONG_REPLY, id_slot=0, stream=True)
        await talk.send(t.dressed(post("/completion", body)).encoded())
        await talk.read_head()
        talk.half_close()
        rest = await talk.ended()
    demand(b'"stop":true' not in rest, "the stream went on to its end")
    await t.idle(0)


async def logged(t: Target) -> None:
    """It is logged as a cancelled task and a release, without timings."""
    mark = t.mark()
    async with t.working(0):
        pass
    await t.logged(
        mark, r"cancel task, id_task = \d+", r"slot +release: id +0 \| task \d+ \| stop processing: n_tokens"
    )
    demand(not any("print_timing" in line and "eval time" in line for line in t.lines(mark)), "it logged timings")


async def queued(t: Target) -> None:
    """A queued stream that is dropped leaves the queue."""
    async with t.working(0) as owner, await Talk.open(t.url) as talk:
        body = completion(t.prompt(8), 1, id_slot=0, stream=True)
        await talk.send(t.dressed(post("/completion", body)).encoded())

        async def waits() -> bool:
            return await value(t, "requests_deferred") == 1

        await t.until("one deferred request", waits)
        owner.close()
    await t.idle(0)

    async def nobody() -> bool:
        return await value(t, "requests_deferred") == 0

    await t.until("no deferred request", nobody)


async def whole_is_noticed(t: Target) -> None:
    """A request that is not streamed and alone is given up about a second after its client has left."""
    async with await Talk.open(t.url) as talk:
        body = completion(t.prompt(8), LONG_REPLY, id_slot=0)
        await talk.send(t.dressed(post("/completion", body)).encoded())
    await t.idle(0)


async def works_on(t: Target) -> None:
    """After all that the decoder answers as before."""
    expect(await t.complete(t.prompt(8), 2, id_slot=0), {"tokens_predicted": 2})


CLAUSES: tuple[Clause, ...] = probed(
    "6.4", closed_stream, kept, half_closed, logged, queued, whole_is_noticed, works_on
)
