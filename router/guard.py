"""Keeps a guardian (`router.guardian`) beside the router, and lets it look for strays when the router ends in order."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence

from router import guardian
from router.child_process import MARK

SWEEP_S = 5.0


class Guard:
    """One guardian process at a time; a new one when it dies."""

    def __init__(self, mark: str, patterns: Sequence[str]) -> None:
        self._command = [sys.executable, "-I", "-S", str(guardian.__file__), mark, *patterns]
        self._loop = asyncio.get_running_loop()
        self._popen: subprocess.Popen[bytes] | None = None
        self._pidfd = -1

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != MARK}
        self._popen = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        self._pidfd = os.pidfd_open(self._popen.pid)
        self._loop.add_reader(self._pidfd, self._on_exit)

    def dismiss(self) -> None:
        """Returns when it has ended what left its group or session, and is gone itself."""
        if self._popen is None:
            return
        self._forget_pidfd()
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        try:
            self._popen.wait(SWEEP_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._popen = None

    def _on_exit(self) -> None:
        assert self._popen is not None
        self._forget_pidfd()
        self._popen.wait()
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        self.start()

    def _forget_pidfd(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
