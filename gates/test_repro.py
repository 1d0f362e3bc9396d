"""`kvgate repro`: a folder whose scripts replay the run without the harness, and a live replay under a terminal."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).parent.parent
KVGATE = [sys.executable, "-m", "harness.cli"]
ROUTER = f"{sys.executable} -m router"
SHARED = ROOT / "scenarios" / "hybrid_kvshare_route" / "shared.yaml"
REFUSED = ROOT / "scenarios" / "hybrid_kvshare_route" / "refused.yaml"


def repro(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KVGATE, "repro", *words], cwd=ROOT, capture_output=True, text=True, timeout=120)


@contextmanager
def started(script: Path) -> Iterator[pexpect.spawn]:
    process = pexpect.spawn(str(script), encoding="utf-8", timeout=30)
    try:
        yield process
    finally:
        process.kill(signal.SIGTERM)
        process.expect(pexpect.EOF)
        process.close()


def on_free_ports(folder: Path) -> None:
    """As a person would whose ports are taken: the file `ports` is the one place where they stand."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    (folder / "ports").write_text(f"build_port={ports[0]}\ndecoder_port={ports[1]}\n")


def test_the_folder_replays_the_run_by_hand_after_it_was_moved(tmp_path):
    done = repro(str(REFUSED), "--router", ROUTER, "--out", str(tmp_path / "made"), "--runs", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    folder = (tmp_path / "made").rename(tmp_path / "moved")
    for script in folder.glob("[0-9]-*.sh"):
        assert script.read_text().count("--port ") == 1, script.read_text()
    on_free_ports(folder)
    with started(folder / "1-decoder.sh") as decoder:
        decoder.expect("listening on http://")
        with started(folder / "2-build.sh") as build:
            build.expect("listening on http://")
            reply = subprocess.run([folder / "request-1.sh"], capture_output=True, text=True, timeout=30)
            assert '"finish_reason":"length"' in reply.stdout
            build.expect("this decoder cannot share its KV, so the state-file route is used")
    assert (folder / "work" / "decoder.jsonl").stat().st_size > 0
    assert {"build.log", "decoder.jsonl", "client.jsonl"} <= set(os.listdir(folder / "seen"))


def test_a_folder_can_be_made_from_an_earlier_run(tmp_path):
    run = subprocess.run(
        [*KVGATE, "run", str(REFUSED), "--router", f"{sys.executable} -m gates.mutants.before_fix", "--runs", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    (folder,) = tmp_path.iterdir()
    done = repro(str(folder), "--out", str(tmp_path / "made"))
    assert done.returncode == 0, done.stderr
    assert "FAIL  the request was pinned to slot 0" in (tmp_path / "made" / "README.txt").read_text()
    assert "gates.mutants.before_fix" in (tmp_path / "made" / "2-build.sh").read_text()


def test_a_live_replay_stops_where_it_is_held_and_obeys(tmp_path):
    words = ["repro", str(SHARED), "--router", ROUTER, "--hold", "decoder.share-reply", "--runs", str(tmp_path)]
    session = pexpect.spawn(KVGATE[0], [*KVGATE[1:], *words], cwd=str(ROOT), encoding="utf-8", timeout=60)
    prompt = re.escape("(kvgate) ")

    def say(line: str, answer: str) -> None:
        session.sendline(line)
        session.expect(answer)
        session.expect(prompt)

    session.expect(r"decoder +http://127.0.0.1:\d+")
    session.expect(r"build +http://127.0.0.1:\d+")
    session.expect("decoder.share-reply is reached")
    session.expect(prompt)
    say("slots", '"is_processing"')
    say("hold decoder.adopt-rply", "did you mean 'decoder.adopt-reply'")
    say("hold decoder.adopt-reply", "whoever comes to decoder.adopt-reply is held")
    say("hold decoder.erased", "whoever comes to decoder.erased is held")
    say("nonsense", "end everything")
    session.sendline("next")
    session.expect("released: decoder.share-reply")
    session.expect("decoder.adopt-reply is reached")
    session.expect(prompt)
    session.sendline("next")
    session.expect("released: decoder.adopt-reply")
    session.expect("every request has been answered")
    session.expect("nobody came to decoder.erased")
    session.expect(prompt)
    say("logs", "hybrid: 30 prompt tokens")
    session.sendline("quit")
    session.expect(pexpect.EOF)
    session.close()
    assert session.exitstatus == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((str(REFUSED),), "say --router CMD"),
        ((str(REFUSED.parent), "--router", "true"), "holds 4 scenarios"),
        ((str(REFUSED), "--router", ROUTER, "--hold", "decoder.shar-reply"), "did you mean 'decoder.share-reply'"),
        (("/nowhere",), "no such"),
    ],
)
def test_what_cannot_be_replayed_is_one_line(words, problem):
    done = repro(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert problem in done.stderr
