"""The wheel behind the launcher, run as a person would run llama-server, with a zoo model."""

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.errors import Unavailable
from harness.models import provide
from harness.real import Server, find_server

pytestmark = pytest.mark.real

READY_S = 120


@pytest.fixture(scope="module")
def server() -> Server:
    return have(lambda: find_server("xllamacpp"))


@pytest.fixture(scope="module")
def model() -> Path:
    return have(lambda: provide("tiny-qwen3"))


def have(getting: Any) -> Any:
    """What is missing skips, or fails where the real set was asked for."""
    try:
        return getting()
    except Unavailable as missing:
        if os.environ.get("KVGATE_REAL"):
            raise
        pytest.skip(str(missing))


@contextmanager
def running(server: Server, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its URL, from the ready line on stderr."""
    command = [*server.argv, "--port", "0", "--parallel", "2", "-c", "2048", "--cache-ram", "0", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            ready = next(found for line in lines if (found := re.search(r"listening on (\S+)", line)))
            yield process, ready[1]
        finally:
            process.kill()


def call(url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=READY_S) as reply:
        return json.load(reply)


def test_it_serves_and_term_ends_it_with_0(server: Server, model: Path, tmp_path: Path) -> None:
    with running(server, "-m", str(model), "--slot-save-path", str(tmp_path), "-a", "tiny") as (process, url):
        assert [slot["n_ctx"] for slot in call(f"{url}/slots")] == [1024, 1024]
        reply = call(f"{url}/completion", {"prompt": [300, 301, 302], "n_predict": 4, "temperature": 0, "id_slot": 0})
        assert (reply["model"], reply["tokens_evaluated"]) == ("tiny", 3)
        assert call(f"{url}/slots/0?action=save", {"filename": "s.bin"})["n_saved"] == 6
        process.send_signal(signal.SIGTERM)
        assert process.wait(READY_S) == 0
    assert (tmp_path / "s.bin").stat().st_size > 0


def test_without_parallel_it_has_four_slots_over_one_pool(server: Server, model: Path) -> None:
    command = [*server.argv, "-m", str(model), "--port", "0", "-c", "512"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = next(line for line in iter(process.stderr.readline, "") if "n_slots" in line)
        process.kill()
    assert "n_slots = 4, n_ctx_slot = 512" in line


def test_a_missing_model_ends_with_1_after_the_servers_own_words(server: Server) -> None:
    done = subprocess.run([*server.argv, "-m", "/nowhere.gguf", "--port", "0"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "exiting due to model loading error" in done.stderr.splitlines()[-1]


def test_an_unknown_flag_ends_with_1_and_nothing_else_said(server: Server) -> None:
    done = subprocess.run([*server.argv, "--frobnicate"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "error: invalid argument: --frobnicate\n")


def test_it_says_its_version(server: Server) -> None:
    done = subprocess.run([*server.argv, "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == f"version: {server.build.removeprefix('b')} (xllamacpp {server.version})"


def test_every_flag_of_the_table_is_a_setting_of_the_default_version(server: Server, tmp_path: Path) -> None:
    """Nothing in the launcher's table is stale for the version we use by default."""
    program = (
        "import runpy, sys, xllamacpp; launcher = runpy.run_path(sys.argv[1])\n"
        "def has(p, f):\n"
        "    *owners, last = f.split('.')\n"
        "    for o in owners: p = getattr(p, o)\n"
        "    return all(hasattr(p, each) for each in last.split('+'))\n"
        "p = xllamacpp.CommonParams()\n"
        "print([n for n, f in launcher['FLAGS'].items() if not any(has(p, each) for each in f.fields)])"
    )
    python, _isolated, launcher = server.argv
    done = subprocess.run([python, "-c", program, launcher], capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", "[]\n")
