"""Section 11: log lines."""

from __future__ import annotations

import asyncio
import re

from harness.conform.clause import Clause, demand, probed
from harness.conform.target import Target, completion
from harness.conform.wire_client import post

_STAMP = r"^\d+\.\d\d\.\d{3}\.\d{3} "


async def form(t: Target) -> None:
    """A line is a time of minutes, seconds, milli and micro, a letter, srv or slot, and the function in 12 columns."""
    t.mark()
    lines = [line for line in t.lines(0) if " srv " in line or " slot " in line]
    wrong = [line for line in lines if not re.match(_STAMP + r"[IWED] (srv |slot) [ \S]{12}: ", line)]
    demand(lines and not wrong, f"a line is {wrong[:1] or 'not there'}")


async def initializing(t: Target) -> None:
    """The load says slots, context per slot and whether the cache is unified."""
    await t.logged(0, r"I srv +load_model: initializing, n_slots = 2, n_ctx_slot = 1024, kv_unified = 'false'$")


async def by_lru(t: Target) -> None:
    """A slot chosen by age is named with its t_last."""
    mark = t.mark()
    await t.complete(t.prompt(20), 1)
    await t.logged(mark, _STAMP + r"I slot get_availabl: id  \d \| task -1 \| selected slot by LRU, t_last = -?\d+$")


async def by_prefix(t: Target) -> None:
    """A slot chosen by prefix is named with similarity, threshold and what is kept."""
    prompt = t.prompt(20)
    await t.complete(prompt, 1)
    mark = t.mark()
    await t.complete(prompt, 1)
    text = r"selected slot by LCP similarity, f_sim_best = 1\.000 \(> 0\.100 thold\), f_keep = 1\.000$"
    await t.logged(mark, r"slot get_availabl: id  \d \| task -1 \| " + text)


async def by_id(t: Target) -> None:
    """A pinned slot is named as selected by id."""
    mark = t.mark()
    await t.complete(t.prompt(20), 1, id_slot=0)
    await t.logged(mark, r"slot get_availabl: id  0 \| task -1 \| selected slot by id \(0\)$")


async def by_id_busy(t: Target) -> None:
    """While the slot works that line shows the running task's number."""
    async with t.working(0) as owner:
        mark = t.mark()
        waiting = asyncio.create_task(t.complete(t.prompt(8), 1, id_slot=0))
        await t.logged(mark, r"slot get_availabl: id  0 \| task \d+ \| selected slot by id \(0\)$")
        owner.close()
        await waiting


async def launched(t: Target) -> None:
    """A task that starts is logged."""
    mark = t.mark()
    await t.complete(t.prompt(20), 1, id_slot=0)
    await t.logged(mark, r"I slot launch_slot_: id  0 \| task \d+ \| processing task, is_child = 0$")


async def whole_prompt(t: Target) -> None:
    """A prompt that is held whole is warned of, in two lines."""
    prompt = t.prompt(19)
    await t.complete(prompt, 1, id_slot=0)
    mark = t.mark()
    await t.complete(prompt, 1, id_slot=0)
    text = r"need to evaluate at least 1 token for each active slot \(n_past = 19, task\.n_tokens\(\) = 19\)$"
    await t.logged(mark, r"W slot   operator\(\): id  0 \| task \d+ \| " + text, r"\| n_past was set to 18$")


async def timings(t: Target) -> None:
    """The end of a task says prompt, generation and total, and how many graphs were reused."""
    mark = t.mark()
    await t.complete(t.prompt(19), 3, id_slot=0)
    front = r"I slot print_timing: id  0 \| task \d+ \| "
    number = r" +\d+\.\d\d"
    await t.logged(
        mark,
        front + rf"prompt eval time ={number} ms / +19 tokens \({number} ms per token,{number} tokens per second\)$",
        front + rf" +eval time ={number} ms / +3 tokens \({number} ms per token,{number} tokens per second\)$",
        front + rf" +total time ={number} ms / +22 tokens$",
        front + r" +graphs reused = +\d+$",
    )


async def release(t: Target) -> None:
    """A release says what the slot holds."""
    mark = t.mark()
    await t.complete(t.prompt(19), 3, id_slot=0)
    await t.logged(mark, r"I slot      release: id  0 \| task \d+ \| stop processing: n_tokens = 21, truncated = 0$")


async def overflow(t: Target) -> None:
    """A prompt that is too long is logged as an error and a cancelled task."""
    mark = t.mark()
    await t.ask(post("/completion", completion(t.prompt(1501), 1, id_slot=0)))
    text = r"request \(1501 tokens\) exceeds the available context size \(1024 tokens\), try increasing it$"
    await t.logged(
        mark, r"E srv    send_error: task id = \d+, error: " + text, r"W srv +stop: cancel task, id_task = \d+$"
    )


async def silent_actions(t: Target) -> None:
    """Save, restore and erase log nothing when they succeed."""
    await t.complete(t.prompt(19), 3, id_slot=0)
    mark = t.mark()
    await t.action(0, "save", {"filename": "silent.bin"})
    await t.action(1, "restore", {"filename": "silent.bin"})
    await t.action(1, "erase")
    lines = [line for line in t.lines(mark) if "release" not in line and "print_timing" not in line]
    demand(not lines, f"it logged {lines[:1]}")


async def task_numbers(t: Target) -> None:
    """Task numbers count every queued thing: a call of /slots moves the next one on by one."""

    async def task() -> int:
        mark = t.mark()
        await t.complete(t.prompt(8), 1, id_slot=0)
        line = (await t.logged(mark, r"launch_slot_: id  0 \| task \d+"))[0]
        return int(re.findall(r"task (\d+)", line)[0])

    first, second = await task(), await task()
    await t.slots()
    third = await task()
    demand(third - second == second - first + 1, f"they went {first}, {second}, and {third} after a call of /slots")


CLAUSES: tuple[Clause, ...] = probed(
    "11",
    form,
    initializing,
    by_lru,
    by_prefix,
    by_id,
    by_id_busy,
    launched,
    whole_prompt,
    timings,
    release,
    overflow,
    silent_actions,
    task_numbers,
)
