"""A pipe's end is closed once, whatever loop it was given to: its number may be another thread's a moment later."""

import asyncio
import os

import pytest
import uvloop

from router.pipes import PipeEnd, Tail, read_into, write_all

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(params=LOOPS)
def run(request):
    with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
        yield runner.run


@pytest.fixture
def ends():
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as read, open(writing, "wb", buffering=0) as write:
        yield read, write


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def give(number):
    """The number, as that of a file of somebody else's."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, number)
    os.close(null)


def test_what_is_written_is_read_to_the_end(run, ends):
    async def story():
        tail = Tail(100)
        transport = await read_into(ends[0], tail)
        await write_all(ends[1], b"x" * 70_000 + b"the end")
        async with asyncio.timeout(10):
            await tail.ended.wait()
        transport.close()
        return tail.kept

    assert run(story()).endswith(b"the end")


def test_an_end_is_closed_once(ends):
    end = PipeEnd(ends[0])
    number = end.fileno()
    end.close()
    assert not is_open(number)
    give(number)
    end.close()
    assert is_open(number)
    os.close(number)


def test_a_number_that_is_somebody_elses_by_now_stays_open(run, ends, monkeypatch):
    """It is given away in the very moment in which it is free, as a thread may be given it."""
    numbers, close = [], PipeEnd.close

    def late(end):
        numbers.append(end.fileno())
        given_away = not is_open(end.fileno())
        if given_away:
            give(end.fileno())
        close(end)
        assert is_open(end.fileno()) == given_away

    async def story():
        monkeypatch.setattr(PipeEnd, "close", late)
        tail = Tail(100)
        transport = await read_into(ends[0], tail)
        ends[1].close()
        async with asyncio.timeout(10):
            await tail.ended.wait()
        transport.close()

    failures = []
    monkeypatch.setattr(asyncio.log.logger, "error", lambda *words, **_: failures.append(words))
    run(story())
    assert failures == []
    assert len(numbers) == 1
    if is_open(numbers[0]):
        os.close(numbers[0])
