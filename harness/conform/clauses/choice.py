"""Section 8: which slot, what is reused, who waits."""

from __future__ import annotations

import asyncio

from harness.conform.clause import Clause, NotSeen, demand, expect, probed
from harness.conform.clauses.metrics import value
from harness.conform.target import Target, both, completion
from harness.conform.wire_client import get, post


async def _served(t: Target, id_slot: object) -> int:
    return int((await t.complete(t.prompt(8), 1, id_slot=id_slot))["id_slot"])


def _wraps(says: str, id_slot: object, served: int) -> Clause:
    async def probe(t: Target) -> None:
        expect(await _served(t, id_slot), served, "the slot that served")

    return Clause("8.1", says, probe)


async def highest_first(t: Target) -> None:
    """On a fresh server the slot with the highest id serves first."""
    slots = await t.slots()
    if any("id_task" in slot for slot in slots):
        raise NotSeen("its slots have been used")
    expect((await t.complete(t.prompt(8), 1))["id_slot"], len(slots) - 1, "the slot that served")


async def oldest(t: Target) -> None:
    """Without a common prefix the slot that was released longest ago serves."""
    for slot in (1, 0):
        await t.complete(t.prompt(20), 1, id_slot=slot)
    expect((await t.complete(t.prompt(20), 1))["id_slot"], 1, "the slot that served")


async def prefix(t: Target) -> None:
    """A slot that holds enough of the prompt's beginning serves, older or not."""
    prompt = t.prompt(40)
    await t.complete(t.prompt(20), 1, id_slot=1)
    await t.complete(prompt, 1, id_slot=0)
    expect((await t.complete(prompt[:30], 1))["id_slot"], 0, "the slot that served")


async def exactly_a_tenth(t: Target) -> None:
    """A tenth of the prompt is not enough."""
    prompt = t.prompt(40)
    await t.complete(t.prompt(20), 1, id_slot=1)
    await t.complete(prompt[:4], 1, id_slot=0)
    expect((await t.complete([*prompt[:4], *t.prompt(36)], 1))["id_slot"], 1, "the slot that served")


async def more_than_a_tenth(t: Target) -> None:
    """A little more than a tenth is."""
    prompt = t.prompt(40)
    await t.complete(t.prompt(20), 1, id_slot=1)
    await t.complete(prompt[:5], 1, id_slot=0)
    expect((await t.complete([*prompt[:5], *t.prompt(35)], 1))["id_slot"], 0, "the slot that served")


async def best_prefix(t: Target) -> None:
    """Of two that hold a beginning the longer one serves."""
    prompt = t.prompt(40)
    await t.complete(prompt[:20], 1, id_slot=1)
    await t.complete(prompt[:30], 1, id_slot=0)
    await t.complete(prompt[:20], 1, id_slot=1)
    expect((await t.complete(prompt, 1))["id_slot"], 0, "the slot that served")


async def whole_prompt(t: Target) -> None:
    """A prompt that the slot holds whole costs one evaluated token."""
    prompt = t.prompt(30)
    for _ in range(2):
        answer = await t.complete(prompt, 3, id_slot=0)
    expect(answer["timings"], {"cache_n": 29, "prompt_n": 1}, "timings")


async def first_differs(t: Target) -> None:
    """From the first token that differs on all is evaluated."""
    prompt = t.prompt(30)
    await t.complete(prompt, 3, id_slot=0)
    answer = await t.complete([*prompt[:20], *t.prompt(10)], 3, id_slot=0)
    expect(answer["timings"], {"cache_n": 20, "prompt_n": 10}, "timings")


async def generated_counts(t: Target) -> None:
    """What was generated counts as held: a prompt that goes on from it reuses it."""
    prompt = t.prompt(30)
    tokens = (await t.complete(prompt, 6, id_slot=0, return_tokens=True))["tokens"]
    answer = await t.complete([*prompt, *tokens, *t.prompt(4)], 1, id_slot=0)
    expect(answer["timings"], {"cache_n": 35, "prompt_n": 5}, "timings")


async def shorter(t: Target) -> None:
    """A shorter prompt drops the rest of the slot."""
    prompt = t.prompt(30)
    await t.complete(prompt, 3, id_slot=0)
    await t.complete(prompt[:10], 1, id_slot=0)
    expect((await t.slot(0))["n_prompt_tokens"], 10, "what the slot holds")


async def no_reuse(t: Target) -> None:
    """cache_prompt false evaluates all, and the slot holds the result."""
    prompt = t.prompt(30)
    await t.complete(prompt, 1, id_slot=0)
    cold = await t.complete(prompt, 1, id_slot=0, cache_prompt=False)
    warm = await t.complete(prompt, 1, id_slot=0)
    expect(cold["timings"], {"cache_n": 0, "prompt_n": 30}, "timings")
    expect(warm["timings"], {"cache_n": 29, "prompt_n": 1}, "timings after it")


async def waits_for_its_slot(t: Target) -> None:
    """A pinned request waits for its busy slot while another idles, and is counted as deferred."""
    async with t.working(0) as owner:
        waiting = asyncio.create_task(t.complete(t.prompt(8), 1, id_slot=0))

        async def there() -> bool:
            return await value(t, "requests_deferred") == 1

        await t.until("one deferred request", there)
        demand(not waiting.done(), "it was answered at once")
        expect((await t.slot(1))["is_processing"], False, "slot 1 is_processing")
        owner.close()
        expect(await waiting, {"id_slot": 0})


async def goes_elsewhere(t: Target) -> None:
    """An unpinned request does not wait for a busy slot while another idles."""
    async with t.working(0):
        expect(await t.complete(t.prompt(8), 1), {"id_slot": 1})


async def all_are_served(t: Target) -> None:
    """More requests than slots are all served, with no 429 or 503."""
    asks = [t.ask(post("/completion", completion(t.prompt(8), 20))) for _ in range(6)]
    expect([answer.status for answer in await both(*asks)], [200] * 6, "the statuses")


async def first_come(t: Target) -> None:
    """Who waits for the same slot is served in order."""
    done: list[int] = []

    async def one(number: int) -> None:
        await t.complete(t.prompt(8), 1, id_slot=0)
        done.append(number)

    async with t.working(0) as owner:
        tasks = []
        for number in range(3):
            tasks.append(asyncio.create_task(one(number)))

            async def there(count: int = number + 1) -> bool:
                return await value(t, "requests_deferred") == count

            await t.until(f"{number + 1} deferred requests", there)
        owner.close()
        await both(*tasks)
    expect(done, [0, 1, 2], "the order")


async def idle_slots_are_cleared(t: Target) -> None:
    """With one pool for all, a task that starts clears every other idle slot."""
    await t.complete(t.prompt(30), 1, id_slot=0)
    expect((await t.slot(0))["n_prompt_tokens"], 30, "what slot 0 holds")
    await t.complete(t.prompt(30), 1, id_slot=1)
    expect((await t.slot(0))["n_prompt_tokens"], 0, "what slot 0 holds after a task on slot 1")


async def pinned_to_cleared(t: Target) -> None:
    """A pinned return to such a slot evaluates everything."""
    prompt = t.prompt(30)
    await t.complete(prompt, 1, id_slot=0)
    await t.complete(t.prompt(30), 1, id_slot=1)
    expect((await t.complete(prompt, 1, id_slot=0))["timings"], {"cache_n": 0, "prompt_n": 30}, "timings")


async def ram_brings_back(t: Target) -> None:
    """With --cache-ram a prompt that a slot has lost comes back from memory: A, B, A on one slot caches all but one."""
    first = t.prompt(49)
    await t.complete(first, 1, id_slot=0)
    await t.complete(t.prompt(49), 1, id_slot=0)
    expect((await t.complete(first, 1, id_slot=0))["timings"], {"cache_n": 48, "prompt_n": 1}, "timings")


async def ram_after_erase(t: Target) -> None:
    """After an erase an unpinned prompt may come back from memory."""
    first = t.prompt(49)
    await t.complete(first, 1, id_slot=0)
    await t.complete(t.prompt(49), 1, id_slot=0)
    for slot in (0, 1):
        await t.action(slot, "erase")
    expect((await t.complete(first, 1))["timings"], {"cache_n": 48, "prompt_n": 1}, "timings")


async def ram_not_for_empty(t: Target) -> None:
    """A pinned request to an empty slot does not look there."""
    first = t.prompt(49)
    await t.complete(first, 1, id_slot=0)
    await t.complete(t.prompt(49), 1, id_slot=0)
    await t.action(0, "erase")
    expect((await t.complete(first, 1, id_slot=0))["timings"], {"cache_n": 0, "prompt_n": 49}, "timings")


async def ram_same_answer(t: Target) -> None:
    """What comes back from memory gives the same tokens."""
    first = t.prompt(49)
    cold = await t.complete(first, 6, id_slot=0, return_tokens=True)
    await t.complete(t.prompt(49), 1, id_slot=0)
    warm = await t.complete(first, 6, id_slot=0, return_tokens=True)
    expect(warm["timings"]["cache_n"], 48, "cache_n")
    expect(warm["tokens"], cold["tokens"], "tokens")


async def no_ram(t: Target) -> None:
    """With --cache-ram 0 what a slot has lost is lost."""
    first = t.prompt(49)
    await t.complete(first, 1, id_slot=0)
    await t.complete(t.prompt(49), 1, id_slot=0)
    expect((await t.complete(first, 1, id_slot=0))["timings"], {"cache_n": 0, "prompt_n": 49}, "timings")


async def slots_listed(t: Target) -> None:
    """Slots are listed by id."""
    found = await t.json(get("/slots"))
    expect([slot["id"] for slot in found], [0, 1], "the ids")


CLAUSES: tuple[Clause, ...] = (
    *probed("8.1", highest_first, setting="auto"),
    _wraps("An id_slot of 0 is slot 0", 0, 0),
    _wraps("An id_slot too large wraps around", 7, 1),
    _wraps("A fraction is cut", 1.7, 1),
    _wraps("-2 wraps as an unsigned number", -2, 0),
    _wraps("-3 wraps as an unsigned number", -3, 1),
    *probed("8.1", oldest, prefix, exactly_a_tenth, more_than_a_tenth, best_prefix, slots_listed),
    *probed("8.2", whole_prompt, first_differs, generated_counts, shorter, no_reuse),
    *probed("8.3", no_ram),
    *probed("8.3", ram_brings_back, ram_after_erase, ram_not_for_empty, ram_same_answer, setting="ram"),
    *probed("8.3", idle_slots_are_cleared, pinned_to_cleared, setting="auto"),
    *probed("8.4", waits_for_its_slot, goes_elsewhere, all_are_served, first_come),
)
