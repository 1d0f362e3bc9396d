"""Starting a server: ready, dead, silent, and the second try of a native build."""

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from harness.processes import Guardian
from harness.real import Server, ServerDied
from harness.real.start import Started, start
from harness.tests.test_processes import open_files_in

READY = 'echo "I srv  llama_server: listening on http://127.0.0.1:4711" >&2; read _never\n'


def program(tmp_path: Path, text: str) -> Server:
    path = tmp_path / "llama-server"
    # The other end of fd 3 is never written to, so a read waits until the program is ended.
    path.write_text(f"#!/bin/bash\nexec 0< <(exec tail -f /dev/null)\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Server("llama-server", (str(path),), "1", native=True)


def started(server: Server, tmp_path: Path, *flags: str, deadline_s: float = 30.0) -> Started:
    async def go() -> Started:
        guardian = Guardian()
        guardian.listen()
        try:
            found = await start(guardian, server, flags, folder=tmp_path, deadline_s=deadline_s)
            await found.process.dismiss()
            return found
        finally:
            guardian.close()

    return asyncio.run(go())


def test_a_ready_server_says_where_it_is(tmp_path: Path) -> None:
    found = started(program(tmp_path, READY), tmp_path, "--port", "0")
    assert found.url == "http://127.0.0.1:4711"
    assert found.flags == ("--port", "0")
    assert found.server.notes == ()


def test_its_own_flags_come_last(tmp_path: Path) -> None:
    server = replace(program(tmp_path, f'[ "$*" = "-c 1 -c 2" ] || exit 1\n{READY}'), flags=("-c", "2"))
    assert started(server, tmp_path, "-c", "1").flags == ("-c", "1", "-c", "2")


def test_one_that_dies_is_shown_with_its_last_lines_and_its_log(tmp_path: Path) -> None:
    with pytest.raises(ServerDied, match=r"exited with status 1(.|\n)*no such model(.|\n)*decoder\.log"):
        started(program(tmp_path, "echo no such model >&2; exit 1\n"), tmp_path)
    assert "no such model" in (tmp_path / "decoder.log").read_text()
    assert open_files_in(tmp_path) == []


def test_one_that_stays_silent_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ServerDied, match=r"waited 0\.3 s"):
        started(program(tmp_path, "read _never\n"), tmp_path, deadline_s=0.3)
    assert open_files_in(tmp_path) == []


CRASHES = f'[[ "$*" == *--no-repack* ]] || kill -ILL $$\n{READY}'


def test_a_native_build_that_crashes_at_load_gets_a_second_try_and_it_is_said(tmp_path: Path) -> None:
    found = started(program(tmp_path, CRASHES), tmp_path, "-c", "1")
    assert found.flags == ("-c", "1", "--no-repack")
    assert found.server.notes == ("died at load (signal 4), started with --no-repack",)


def test_the_second_try_is_the_last(tmp_path: Path) -> None:
    with pytest.raises(ServerDied, match="SIGILL"):
        started(program(tmp_path, "kill -ILL $$\n"), tmp_path)


def test_an_exit_is_no_crash(tmp_path: Path) -> None:
    with pytest.raises(ServerDied, match="status 3"):
        started(program(tmp_path, f'[[ "$*" == *--no-repack* ]] || exit 3\n{READY}'), tmp_path)
