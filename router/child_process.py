"""A child process in a process group of its own: started, watched by its pidfd, ended as a whole group, reaped.

The group is signalled while its leader is not reaped yet, so that the number cannot be somebody else's by then.
Every child carries the router's mark in its environment, by which `router.guardian` finds it should the router be
killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from router.deadline import happens

MARK = "KVGATE_ROUTER_ID"
TERM_GRACE_S = 0.5
_GROUP_POLL_S = 0.02


class ChildProcess:
    """One child; `ended` is set when it is reaped and its group is empty."""

    def __init__(self, popen: subprocess.Popen[bytes], when_ended: Callable[[ChildProcess], None]) -> None:
        self._popen = popen
        self._when_ended = when_ended
        self.pid = popen.pid
        self.exited = asyncio.Event()
        """The child itself is gone and reaped; `returncode` is there."""
        self.ended = asyncio.Event()
        self._pidfd = os.pidfd_open(popen.pid)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pidfd, self._on_exit)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def returncode(self) -> int:
        """Of an exited child: its status, or minus the signal that ended it."""
        assert self._popen.returncode is not None
        return self._popen.returncode

    @property
    def pipes(self) -> tuple[IO[bytes] | None, IO[bytes] | None, IO[bytes] | None]:
        return self._popen.stdin, self._popen.stdout, self._popen.stderr

    def signal_group(self, number: signal.Signals) -> None:
        """To all of the group; one that is gone already is no error."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    async def end(self, grace_s: float = TERM_GRACE_S) -> None:
        """TERM to the whole group, KILL after `grace_s`; it is reaped even if the caller is cancelled meanwhile."""
        if self.ended.is_set():
            return
        ending = self._loop.create_task(self._end(grace_s))
        self._tasks.append(ending)
        await asyncio.shield(ending)

    async def _end(self, grace_s: float) -> None:
        if not self.exited.is_set():
            self.signal_group(signal.SIGTERM)
            if not await happens(self.exited, grace_s):
                self.signal_group(signal.SIGKILL)
        await self.ended.wait()

    async def kill(self) -> None:
        """KILL at once, and reaped."""
        if not self.ended.is_set():
            self.signal_group(signal.SIGKILL)
            await self.ended.wait()

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        # The leader is a zombie now and keeps the group's number; what is left of the group is told to end.
        self.signal_group(signal.SIGTERM)
        self._popen.wait()
        self.exited.set()
        self._tasks.append(self._loop.create_task(self._clear_group()))

    async def _clear_group(self) -> None:
        never = asyncio.Event()
        for _ in range(round(TERM_GRACE_S / _GROUP_POLL_S)):
            if not self._group_lives():
                break
            await happens(never, _GROUP_POLL_S)
        else:
            self.signal_group(signal.SIGKILL)
        self.ended.set()
        self._when_ended(self)

    def _group_lives(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


class Children:
    """All children of this router that have not ended."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._alive: set[ChildProcess] = set()

    def start(self, command: Sequence[str], *, fds: Sequence[int] = (), takes_input: bool = False) -> ChildProcess:
        """Starts `command` with both outputs piped. OSError: it cannot be started."""
        popen = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(self._environment),
            pass_fds=tuple(fds),
            start_new_session=True,
            bufsize=0,
        )
        child = ChildProcess(popen, self._alive.discard)
        self._alive.add(child)
        return child

    async def kill_all(self) -> None:
        """Ends whatever still runs, at once."""
        await asyncio.gather(*(child.kill() for child in tuple(self._alive)))


def child_environment(environment: Mapping[str, str], mark: str, keys: Sequence[str]) -> dict[str, str]:
    """The router's environment without anything that is, or is named as, an API key."""
    kept = {
        name: value
        for name, value in environment.items()
        if "API_KEY" not in name.upper() and not any(key in value for key in keys)
    }
    return {**kept, MARK: mark}
