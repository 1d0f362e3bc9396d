"""Start a process, wait until it is ready, end it, prove that it has ended.

Everything is started by the guardian (`harness.guardian`), so nothing outlives the harness. A process is a value
owned by one run; no port, name or folder is derived from anything but the run itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import guardian as guardian_program
from harness.deadline import within
from harness.errors import DeadlineMissed, HarnessError, ProcessDied
from harness.output import Output
from harness.record import Exit

TERM_S = 10.0
"""How long a process may take to end when asked; after that it is killed, and that is a finding."""

ENDED_AS_ASKED = (0, -signal.SIGTERM, 128 + signal.SIGTERM)
"""The statuses of a process that did what SIGTERM says. A crash at the same moment shows another one."""

_ANSWER_S = 30.0
_EOF_S = 2.0


@dataclass(slots=True)
class Process:
    """A process that was started. `exited` gives its status; minus the signal's number where one ended it."""

    name: str
    argv: tuple[str, ...]
    pid: int
    output: Output
    exited: asyncio.Future[int]
    _pidfd: int = field(repr=False)
    _asked: bool = False

    async def ready(self, seconds: float) -> re.Match[str]:
        """The line that shows it is ready. ProcessDied if it ends first, DeadlineMissed if it says nothing."""
        line = self.output.matched
        await self._either(line, seconds, f"{self.name} (pid {self.pid}) to say that it is ready")
        if line.done():
            return line.result()
        await self.read_to_end()
        if line.done():
            return line.result()
        raise ProcessDied(f"{self.name} {ended_how(self.exited.result())} before it was ready\n{self.output.tail()}")

    async def _either(self, event: asyncio.Future[Any], seconds: float, awaited: str) -> None:
        both = asyncio.wait((event, self.exited), return_when=asyncio.FIRST_COMPLETED)
        await within(seconds, awaited, both, self.output.tail)

    async def read_to_end(self) -> None:
        """Until its last writer has closed the pipe. What holds it open beyond a moment is somebody else."""
        with contextlib.suppress(DeadlineMissed):
            await within(_EOF_S, "the end of its output", asyncio.shield(self.output.ended))

    @property
    def running(self) -> bool:
        return not self.exited.done()

    def send(self, number: signal.Signals) -> None:
        """A signal to this very process, never to one that has its pid by now."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)

    async def end(self, seconds: float = TERM_S) -> Exit:
        """Ask it to end; kill it if it does not. What it wrote is still to be read (`read_to_end`)."""
        if not self.running:
            return self._ended(Exit(self.exited.result(), asked=False))
        self.send(signal.SIGTERM)
        killed = not await self._gone(seconds)
        if killed:
            self.send(signal.SIGKILL)
            if not await self._gone(_ANSWER_S):
                return self._ended(Exit(None, asked=True, killed=True))
        return self._ended(Exit(self.exited.result(), asked=True, killed=killed))

    async def dismiss(self) -> None:
        """End it, read what it still says, and let go of its log."""
        await self.end()
        await self.read_to_end()
        self.output.close()

    def _ended(self, how: Exit) -> Exit:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        return how

    async def _gone(self, seconds: float) -> bool:
        try:
            await within(seconds, f"the end of {self.name}", asyncio.shield(self.exited))
        except DeadlineMissed:
            return False
        return True


def ended_how(status: int) -> str:
    """`exited with status 3`, `was killed by SIGSEGV`."""
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


class Guardian:
    """The harness's end of the guardian process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, guardian_program.MESSAGE_BYTES)
        with theirs:
            command = [sys.executable, "-I", "-S", guardian_program.__file__, str(theirs.fileno())]
            self._program = subprocess.Popen(
                command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, start_new_session=True
            )
        ours.setblocking(False)
        self._socket = ours
        self._answers: dict[int, asyncio.Future[tuple[dict[str, Any], list[int]]]] = {}
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._asked = 0
        self.started = 0

    @property
    def pid(self) -> int:
        return self._program.pid

    def listen(self) -> None:
        """Read what the guardian says on the running loop."""
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._readable)

    def close(self) -> None:
        """Everything it started ends now; returns when it has."""
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()
        self._program.wait()

    async def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        ready: re.Pattern[str] | None = None,
    ) -> Process:
        """Start a process; its output goes to `log`. ProcessDied where the command cannot be run at all."""
        output = Output(log, ready)
        reading, writing = os.pipe()
        output.read_from(reading)
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            started = {"op": "start", "argv": list(argv), "env": dict(env), "cwd": str(cwd)}
            answer, (pidfd,) = await self._ask(started, [nothing, writing, writing])
        except BaseException as failure:
            output.close()
            if isinstance(failure, _Refused):
                raise ProcessDied(f"{name} cannot be started: {argv[0]}: {failure}") from None
            raise
        finally:
            os.close(writing)
            os.close(nothing)
        self.started += 1
        return Process(name, tuple(argv), answer["pid"], output, self._exit_of(answer["pid"]), pidfd)

    async def processes(self) -> list[dict[str, Any]]:
        """Every living process below the guardian."""
        answer, _ = await self._ask({"op": "list"})
        return list(answer["processes"])

    async def kill(self, pids: Sequence[int]) -> None:
        await self._ask({"op": "kill", "pids": list(pids)})

    async def remove_at_the_end(self, folder: Path) -> None:
        """A folder that the guardian removes when everything has ended, however it ends."""
        await self._ask({"op": "scratch", "path": str(folder)})

    def _exit_of(self, pid: int) -> asyncio.Future[int]:
        return self._exits.setdefault(pid, asyncio.get_running_loop().create_future())

    async def _ask(self, message: dict[str, Any], fds: Sequence[int] = ()) -> tuple[dict[str, Any], list[int]]:
        self._asked += 1
        answer: asyncio.Future[tuple[dict[str, Any], list[int]]] = asyncio.get_running_loop().create_future()
        self._answers[self._asked] = answer
        data = json.dumps({"id": self._asked, **message}).encode()
        try:
            socket.send_fds(self._socket, [data], list(fds))
        except OSError as error:
            raise HarnessError(f"the guardian cannot be reached: {error.strerror}") from error
        got, received = await within(_ANSWER_S, "the guardian's answer", answer)
        if "error" in got:
            raise _Refused(got["error"])
        return got, received

    def _readable(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._socket, guardian_program.MESSAGE_BYTES, 3)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        if not data:
            self._lost()
            return
        message = json.loads(data)
        if "exit" in message:
            future = self._exit_of(message["exit"])
            if not future.done():
                future.set_result(message["status"])
            return
        answer = self._answers.pop(message["id"])
        if answer.done():
            _end_unwanted(fds)
        else:
            answer.set_result((message, list(fds)))

    def _lost(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(HarnessError("the guardian has ended; what it started may be left"))


def _end_unwanted(pidfds: Sequence[int]) -> None:
    """What was started for somebody who was cancelled before the answer came: nobody else knows of it."""
    for pidfd in pidfds:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)


class _Refused(Exception):
    """The guardian could not do what it was asked."""


Tail = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Tails:
    """The last lines of every process, for the error of a missed deadline."""

    processes: tuple[Process, ...]

    def __call__(self) -> str:
        return "\n".join(process.output.tail() for process in self.processes)
