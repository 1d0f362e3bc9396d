"""One process that starts everything a run needs, and ends all of it when the run's pipe closes.

It is the child subreaper of what it starts, so that nothing can leave its tree: not by a double fork, not by
`setsid`. When the harness ends, however it ends, the socket closes, and every descendant is killed and reaped.
It knows no scenario and no fake; it stands alone on the standard library, so that it starts at once.

    python guardian.py FD            FD: one end of a SOCK_SEQPACKET pair

    {"id", "op": "start", "argv", "env", "cwd"} + [stdin, stdout, stderr]  ->  {"id", "pid"} + [pidfd]
    {"id", "op": "list"}                                                   ->  {"id", "processes": [...]}
    {"id", "op": "kill", "pids": [...]}                                    ->  {"id", "killed": [...]}
    {"id", "op": "scratch", "path"}  a folder to remove at the end         ->  {"id"}
    anything that fails                                                    ->  {"id", "error"}
    and of its own accord                                                      {"exit": pid, "status": n}

    python guardian.py --run COMMAND...      one command and nothing that outlives it: all of it ends when the command
                                             does, or when standard input closes; its own status is the exit status
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
from typing import Any

MESSAGE_BYTES = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36


def descendants(root: int) -> list[dict[str, Any]]:
    """Every living process below `root`: pid, ppid, session, state, command. Zombies are left out."""
    found: dict[int, dict[str, Any]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := _process(int(name))) is not None:
            found[process["pid"]] = process
    return [each for each in found.values() if each["state"] not in "ZX" and _is_below(root, each, found)]


def _process(pid: int) -> dict[str, Any] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read().decode(errors="replace")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode(errors="replace").split("\0")
    except OSError:
        return None
    comm, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
    command = " ".join(words).strip() or f"[{comm}]"
    return {"pid": pid, "ppid": int(rest[1]), "sid": int(rest[3]), "state": rest[0], "command": command}


def _is_below(root: int, process: dict[str, Any], all_found: dict[int, dict[str, Any]]) -> bool:
    seen = set()
    pid = process["ppid"]
    while pid not in seen and pid > 1:
        if pid == root:
            return True
        seen.add(pid)
        parent = all_found.get(pid)
        pid = parent["ppid"] if parent is not None else 0
    return False


class Guardian:
    """Carries out what the harness asks for, one message at a time."""

    def __init__(self, harness: socket.socket) -> None:
        self._harness = harness
        self._scratch: list[str] = []

    def run(self) -> None:
        """Until the harness is gone; then nothing is left."""
        woken, wake = socket.socketpair()
        woken.setblocking(False)
        wake.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _stay)
        with selectors.DefaultSelector() as selector:
            selector.register(self._harness, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while self._serve(selector, woken):
                pass
        signal.set_wakeup_fd(-1)

    def _serve(self, selector: selectors.BaseSelector, woken: socket.socket) -> bool:
        for key, _ in selector.select():
            if key.fileobj is woken:
                woken.recv(4096)
            elif not self._receive():
                return False
        self._reap()
        return True

    def _receive(self) -> bool:
        try:
            data, fds, _, _ = socket.recv_fds(self._harness, MESSAGE_BYTES, 3)
        except OSError:
            return False
        if not data:
            return False
        message = json.loads(data)
        try:
            self._do(message, fds)
        except (OSError, ValueError) as error:
            self._send({"id": message["id"], "error": f"{getattr(error, 'strerror', None) or error}"})
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def _do(self, message: dict[str, Any], fds: list[int]) -> None:
        answer: dict[str, Any] = {"id": message["id"]}
        match message["op"]:
            case "start":
                self._start(message, fds)
                return
            case "list":
                answer["processes"] = descendants(os.getpid())
            case "kill":
                answer["killed"] = [pid for pid in message["pids"] if _kill(pid)]
            case "scratch":
                self._scratch.append(message["path"])
        self._send(answer)

    def _start(self, message: dict[str, Any], fds: list[int]) -> None:
        stdin, stdout, stderr = fds
        child = subprocess.Popen(
            message["argv"],
            env=message["env"],
            cwd=message["cwd"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        pidfd = os.pidfd_open(child.pid)
        child.returncode = 0  # reaped in `_reap`, together with the orphans that are nobody's Popen
        self._send({"id": message["id"], "pid": child.pid}, [pidfd])
        os.close(pidfd)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._send({"exit": pid, "status": os.waitstatus_to_exitcode(status)})

    def _send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        data = json.dumps(message).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        # Where the harness is gone, the next read says so too, and ends everything.
        with contextlib.suppress(OSError):
            self._harness.sendmsg([data], rights)

    def end_all(self) -> None:
        """Everything that was started, and the folders that were named."""
        end_descendants()
        for path in self._scratch:
            shutil.rmtree(path, ignore_errors=True)


def end_descendants() -> None:
    """Kill until nothing below is left. Orphans come up to here, so the tree can only get smaller."""
    while living := descendants(os.getpid()):
        for process in living:
            _kill(process["pid"])
        _await_one_child()


def _await_one_child() -> None:
    """One and no more: a fork that slipped through is alive and not yet killed."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _stay(*_: object) -> None:
    """Not SIG_IGN, which every process started from here would inherit."""


def run_one(command: list[str]) -> int:
    """The command's status, or 127 where it cannot be run and 124 where it had to be cut off."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    pidfd = os.pidfd_open(child.pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    ready = {fd for fd, _ in poll.poll()}
    status = child.wait() if pidfd in ready else 124
    end_descendants()
    return status if status >= 0 else 128 - status


def main() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stay)
    if sys.argv[1] == "--run":
        sys.exit(run_one(sys.argv[2:]))
    harness = socket.socket(fileno=int(sys.argv[1]))
    guardian = Guardian(harness)
    try:
        guardian.run()
    finally:
        guardian.end_all()


if __name__ == "__main__":
    main()
