"""Leases and their queue."""

import asyncio

import pytest

from router.deadline import Deadline
from router.errors import Refusal
from router.leases import Leases
from router.slots import SlotTable, State


def leases(n_slots: int, max_queue: int = 8) -> Leases:
    table = SlotTable()
    table.add(0, n_slots)
    return Leases(table, max_queue)


async def settle() -> None:
    """Lets everything that can run now run."""
    for _ in range(5):
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(ready.set_result, None)
        await ready


def test_released_exactly_once():
    async def run():
        pool = leases(1)
        lease = await pool.acquire(None, Deadline(1))
        lease.release(None)
        other = await pool.acquire(None, Deadline(1))
        lease.release(None)
        assert lease.quarantine() is None
        assert other.slot.state is State.LEASED

    asyncio.run(run())


def test_first_come_first_served():
    async def run():
        pool = leases(1)
        held, order = await pool.acquire(None, Deadline(5)), []

        async def wait(name):
            lease = await pool.acquire(None, Deadline(5))
            order.append(name)
            lease.release(None)

        waiting = []
        for name in "abc":
            waiting.append(asyncio.create_task(wait(name)))
            await settle()
        held.release(None)
        await asyncio.gather(*waiting)
        assert order == ["a", "b", "c"]

    asyncio.run(run())


def test_a_newcomer_does_not_overtake_the_queue():
    async def run():
        pool = leases(1)
        held = await pool.acquire(None, Deadline(5))
        first = asyncio.create_task(pool.acquire(None, Deadline(5)))
        await settle()
        held.release(None)
        second = asyncio.create_task(pool.acquire(None, Deadline(5)))
        await settle()
        assert first.done()
        assert not second.done()
        first.result().release(None)
        (await second).release(None)

    asyncio.run(run())


def test_a_full_queue_refuses_with_retry_after():
    async def run():
        pool = leases(1, max_queue=0)
        await pool.acquire(None, Deadline(1))
        with pytest.raises(Refusal) as refused:
            await pool.acquire(None, Deadline(1))
        assert (refused.value.status, refused.value.retry_after_s) == (503, 1)

    asyncio.run(run())


def test_a_deadline_in_the_queue_refuses_and_leaves_no_trace():
    async def run():
        pool = leases(1)
        held = await pool.acquire(None, Deadline(1))
        with pytest.raises(Refusal, match="deadline"):
            await pool.acquire(None, Deadline(0.01))
        assert pool.n_waiting == 0
        held.release(None)
        assert pool.table.count(State.FREE) == 1

    asyncio.run(run())


def test_a_waiter_cancelled_after_it_was_given_a_slot_gives_it_back():
    """The slot arrives and the client leaves in the same turn of the loop."""

    async def run():
        pool = leases(1)
        held = await pool.acquire(None, Deadline(5))
        waiter = asyncio.create_task(pool.acquire(None, Deadline(5)))
        await settle()
        held.release(None)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert pool.table.count(State.FREE) == 1
        assert pool.n_waiting == 0

    asyncio.run(run())


def test_a_cleared_slot_goes_to_who_waits():
    async def run():
        pool = leases(1)
        lease = await pool.acquire(None, Deadline(5))
        slot = lease.quarantine()
        waiter = asyncio.create_task(pool.acquire(None, Deadline(5)))
        await settle()
        assert not waiter.done()
        pool.clear(slot)
        assert (await waiter).slot is slot

    asyncio.run(run())


def test_those_who_wait_are_told_when_nobody_will_be_served():
    async def run():
        pool = leases(1)
        await pool.acquire(None, Deadline(5))
        waiter = asyncio.create_task(pool.acquire(None, Deadline(5)))
        await settle()
        pool.fail_waiting(Refusal(503, "unavailable_error", "the router is shutting down"))
        with pytest.raises(Refusal, match="shutting down"):
            await waiter

    asyncio.run(run())


def test_who_waits_for_one_decoder_does_not_hold_up_those_who_take_any():
    async def run():
        pool = leases(1)
        pool.table.add(1, 1)
        of_zero = await pool.acquire(None, Deadline(5), frozenset({0}))
        of_one = await pool.acquire(None, Deadline(5), frozenset({1}))
        for_zero = asyncio.create_task(pool.acquire(None, Deadline(5), frozenset({0})))
        await settle()
        for_any = asyncio.create_task(pool.acquire(None, Deadline(5)))
        await settle()
        of_one.release(None)
        assert (await for_any).slot.decoder == 1
        assert not for_zero.done()
        of_zero.release(None)
        assert (await for_zero).slot.decoder == 0
        assert pool.n_waiting == 0

    asyncio.run(run())


def test_a_free_slot_that_no_waiter_may_have_goes_to_who_comes():
    async def run():
        pool = leases(1)
        pool.table.add(1, 1)
        await pool.acquire(None, Deadline(5), frozenset({0}))
        waiting = asyncio.create_task(pool.acquire(None, Deadline(5), frozenset({0})))
        await settle()
        assert (await pool.acquire(None, Deadline(5))).slot.decoder == 1
        waiting.cancel()

    asyncio.run(run())


def test_who_waits_for_decoders_that_are_gone_is_told():
    async def run():
        pool = leases(1)
        pool.table.add(1, 1)
        for n in (0, 1):
            await pool.acquire(None, Deadline(5), frozenset({n}))
        stranded = asyncio.create_task(pool.acquire(None, Deadline(5), frozenset({0})))
        others = asyncio.create_task(pool.acquire(None, Deadline(5), frozenset({0, 1})))
        await settle()
        pool.table.drop(0)
        pool.fail_stranded(Refusal(503, "unavailable_error", "gone"))
        with pytest.raises(Refusal, match="gone"):
            await stranded
        assert not others.done()
        others.cancel()

    asyncio.run(run())
