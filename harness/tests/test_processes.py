"""Processes under the guardian: started, ended, and never left, whoever is cancelled in between."""

import asyncio
import os
import re
import sys
from contextlib import asynccontextmanager

import pytest

from harness.deadline import until
from harness.errors import DeadlineMissed, ProcessDied
from harness.processes import Guardian, ended_how
from harness.record import Exit

SAYS_READY = "import time; print('ready on 7', flush=True); time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
ORPHANS = """
import subprocess, sys
child = "import os, time; os.setsid(); time.sleep(600)"
print("ready", subprocess.Popen([sys.executable, "-c", child], start_new_session=True).pid, flush=True)
"""


@asynccontextmanager
async def guardian():
    opened = Guardian()
    opened.listen()
    try:
        async with asyncio.timeout(60):
            yield opened
    finally:
        opened.close()


def start(opened, folder, script, ready=None):
    argv = [sys.executable, "-c", script]
    pattern = re.compile(ready) if ready else None
    return opened.start("it", argv, env=dict(os.environ), cwd=folder, log=folder / "it.log", ready=pattern)


def run(story):
    asyncio.run(story())


def test_a_process_is_ready_when_it_says_so_and_ends_when_asked(tmp_path):
    async def story():
        async with guardian() as opened:
            process = await start(opened, tmp_path, SAYS_READY, r"ready on (\d)")
            assert (await process.ready(30)).group(1) == "7"
            assert await process.end() == Exit(-15, asked=True)
            await process.read_to_end()
            process.output.close()
            assert await opened.processes() == []

    run(story)
    assert (tmp_path / "it.log").read_text() == "ready on 7\n"


def test_one_that_does_not_end_is_killed_and_that_is_told(tmp_path):
    async def story():
        async with guardian() as opened:
            process = await start(opened, tmp_path, DEAF, "ready")
            await process.ready(30)
            assert await process.end(seconds=0.1) == Exit(-9, asked=True, killed=True)
            process.output.close()

    run(story)


def test_one_that_dies_before_it_is_ready_says_how_and_shows_its_last_lines(tmp_path):
    async def story():
        async with guardian() as opened:
            process = await start(opened, tmp_path, "print('no such model'); raise SystemExit(3)", "ready")
            with pytest.raises(ProcessDied, match=r"it exited with status 3 before it was ready\n.*no such model"):
                await process.ready(30)
            assert (await process.end()).asked is False
            process.output.close()

    run(story)


def test_one_that_says_nothing_misses_its_deadline_by_name(tmp_path):
    async def story():
        async with guardian() as opened:
            process = await start(opened, tmp_path, "import time; time.sleep(600)", "ready")
            with pytest.raises(DeadlineMissed, match=r"it .* to say that it is ready"):
                await process.ready(0.2)
            await process.end()
            process.output.close()

    run(story)


def test_a_command_that_is_not_there_is_named(tmp_path):
    async def story():
        async with guardian() as opened:
            with pytest.raises(ProcessDied, match="it cannot be started: /no/such: No such file or directory"):
                await opened.start("it", ["/no/such"], env={}, cwd=tmp_path, log=tmp_path / "it.log")
            assert open_files_in(tmp_path) == []

    run(story)


def test_what_is_started_for_somebody_who_was_cancelled_is_ended(tmp_path):
    async def story():
        async with guardian() as opened:
            starting = asyncio.create_task(start(opened, tmp_path, SAYS_READY))
            await asyncio.sleep(0)  # noqa: TID251 - one turn of the loop: it has asked, no answer has been read
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            await until(30, "nothing to be left", lambda: nothing_below(opened))
            assert open_files_in(tmp_path) == []

    run(story)


def open_files_in(folder):
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    return [path for path in (os.path.realpath(link) for link in links) if path.startswith(str(folder))]


async def nothing_below(opened):
    return True if await opened.processes() == [] else None


def test_orphans_in_sessions_of_their_own_end_with_the_guardian(tmp_path):
    pids = []

    async def story():
        async with guardian() as opened:
            process = await start(opened, tmp_path, ORPHANS, r"ready (\d+)")
            pids.append(int((await process.ready(30)).group(1)))
            await asyncio.shield(process.exited)
            assert [each["pid"] for each in await opened.processes()] == pids
            process.output.close()

    run(story)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.parametrize(("status", "words"), [
    (0, "exited with status 0"), (3, "exited with status 3"), (-9, "was killed by SIGKILL"),
    (-123, "was killed by signal 123"),
])  # fmt: skip
def test_an_end_is_told_in_words(status, words):
    assert ended_how(status) == words
