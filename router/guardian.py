"""Ends what a router leaves, killed or not: its children, their children, its sockets and its state files.

Runs as a program of its own (`python -I -S guardian.py MARK PATTERN...`) with the standard library alone, and waits
for the end of one pipe that only the router holds open. Then every process that carries the router's mark in its
environment is killed, also one that left its group or session, until none is found, and the paths that match the
patterns are removed.
"""

from __future__ import annotations

import glob
import os
import select
import shutil
import signal
import sys

MARK_VARIABLE = b"KVGATE_ROUTER_ID="
QUIET_ROUNDS = 3
ROUND_S = 0.02
MAX_ROUNDS = 250


def main(argv: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    mark, patterns = argv[1], argv[2:]
    while os.read(0, 1):
        pass
    end_all(MARK_VARIABLE + mark.encode())
    for pattern in patterns:
        remove(pattern)
    return 0


def end_all(needle: bytes) -> None:
    """Kills until several rounds find nothing: a child may have been on its way into being."""
    quiet = 0
    for _ in range(MAX_ROUNDS):
        found = marked(needle)
        for pid in found:
            kill(pid)
        quiet = 0 if found else quiet + 1
        if quiet == QUIET_ROUNDS:
            return
        select.select([], [], [], ROUND_S)


def marked(needle: bytes) -> list[int]:
    """The processes that carry the mark."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]
    return [pid for pid in pids if needle in environment_of(pid).split(b"\0")]


def environment_of(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def remove(pattern: str) -> None:
    for path in glob.glob(pattern):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
            continue
        try:
            os.unlink(path)
        except OSError:
            continue


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
