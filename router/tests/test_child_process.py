"""Child processes: their whole group ends, is reaped, and a killed router's guardian finds the rest."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from router import guardian
from router.child_process import MARK, Children, child_environment
from router.deadline import happens
from router.pipes import Lines, Tail, read_into

SHELL = "/bin/sh"
STUBBORN = "trap '' TERM; echo ready; while :; do read x < /dev/zero; done"


def is_there(pid: int) -> bool:
    """Running; a zombie that its foster parent has not reaped yet is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def gone(pid: int) -> None:
    """A killed process takes a moment to be gone."""
    never = asyncio.Event()
    async with asyncio.timeout(10):
        while is_there(pid):
            await happens(never, 0.01)


@contextmanager
def started(script: str):
    child = Children({"PATH": os.environ["PATH"], MARK: "test"}).start([SHELL, "-c", script])
    try:
        yield child
    finally:
        child.signal_group(signal.SIGKILL)
        for pipe in child.pipes:
            if pipe is not None:
                pipe.close()


async def first_line(child) -> str:
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    transport = await read_into(child.pipes[1], Lines(lines.put_nowait))
    try:
        async with asyncio.timeout(10):
            return (await lines.get()).decode()
    finally:
        transport.close()


def test_the_exit_status_is_told_and_the_child_reaped():
    async def run():
        with started("exit 3") as child:
            await child.ended.wait()
            assert child.returncode == 3
            return child.pid

    assert not Path(f"/proc/{asyncio.run(run())}").exists()


def test_one_that_ignores_term_is_killed():
    async def run():
        with started(STUBBORN) as child:
            assert await first_line(child) == "ready"
            await child.end(grace_s=0.05)
            assert child.returncode == -signal.SIGKILL

    asyncio.run(run())


def test_the_whole_group_ends_with_its_leader():
    async def run():
        with started("(trap '' TERM; exec sleep 100) & echo $!; exit 0") as child:
            other = int(await first_line(child))
            await child.ended.wait()
            await gone(other)
            assert child.returncode == 0

    asyncio.run(run())


def test_a_cancelled_caller_does_not_stop_the_ending():
    async def run():
        with started(STUBBORN) as child:
            await first_line(child)
            ending = asyncio.create_task(child.end(grace_s=0.05))
            await asyncio.wait({ending}, timeout=0.01)
            ending.cancel()
            async with asyncio.timeout(5):
                await child.ended.wait()

    asyncio.run(run())


def test_the_environment_has_the_mark_and_no_key():
    given = {"PATH": "/bin", "LLAMA_API_KEY": "x", "my_api_key": "y", "URL": "http://u:s3cret@h", "FAKE_X": "1"}
    assert child_environment(given, "m", ("s3cret",)) == {"PATH": "/bin", "FAKE_X": "1", MARK: "m"}


def test_the_guardian_ends_the_marked_when_the_router_is_gone(tmp_path):
    mark = f"guardian-test-{os.getpid()}"
    marked = subprocess.Popen(["sleep", "100"], env={**os.environ, MARK: mark}, start_new_session=True)
    other = subprocess.Popen(["sleep", "100"], env={**os.environ, MARK: mark + "x"})
    (tmp_path / "kvgate-m-run").mkdir()
    (tmp_path / "kvgate-m-1.bin").touch()
    (tmp_path / "kept").touch()
    command = [sys.executable, "-I", "-S", guardian.__file__, mark, f"{tmp_path}/kvgate-m*"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        process.stdin.close()
        assert process.wait(20) == 0
    try:
        assert marked.wait(10) == -signal.SIGKILL
        assert [path.name for path in tmp_path.iterdir()] == ["kept"]
        assert other.poll() is None
    finally:
        for child in (marked, other):
            child.kill()
            child.wait()


def test_output_is_kept_from_its_end_and_lines_are_bounded():
    tail = Tail(10)
    for _ in range(100):
        tail.data_received(b"0123456789abc")
    assert tail.kept == b"3456789abc"
    lines: list[bytes] = []
    reader = Lines(lines.append)
    reader.data_received(b"one\r\ntw")
    reader.data_received(b"o\n" + b"x" * 10_000)
    reader.connection_lost(None)
    assert lines[:2] == [b"one", b"two"]
    assert b"".join(lines[2:]) == b"x" * 10_000
    assert max(map(len, lines)) <= 4096
