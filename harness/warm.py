"""Fakes forked from one warm process: everything imported once, each fake still a process of its own.

The harness's end of `python -m fakes.warm SOCKET`: one JSON line asks for a fake, one names its pid, one tells later
how it ended. A fake's output comes through a named pipe, so that it is read like any other process's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.deadline import until, within
from harness.errors import HarnessError
from harness.output import Output
from harness.processes import Guardian, Process

_READY_S = 30.0
_FORKED_S = 30.0


class Warm:
    """The warm process of one session. Fakes are asked for one after the other."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._process = process
        self._reader, self._writer = reader, writer
        self._forked: asyncio.Queue[int] = asyncio.Queue()
        self._exits: dict[int, asyncio.Future[int]] = {}
        self._listening = asyncio.create_task(self._listen())
        self._one_at_a_time = asyncio.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def open(cls, guardian: Guardian, folder: Path, env: Mapping[str, str]) -> Warm:
        """Start the warm process; it answers on a socket in `folder`, which has to have a short path."""
        path = folder / "warm.sock"
        command = [sys.executable, "-m", "fakes.warm", str(path)]
        log = folder / "warm.log"
        process = await guardian.start("the warm process", command, env=env, cwd=folder, log=log)

        async def connected() -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
            if not process.running:
                raise HarnessError(f"the warm process has ended\n{process.output.tail()}")
            try:
                return await asyncio.open_unix_connection(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                return None

        try:
            reader, writer = await until(_READY_S, "the warm process to listen", connected, process.output.tail)
        except BaseException:
            await process.dismiss()
            raise
        return cls(process, reader, writer)

    async def start(
        self,
        kind: str,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        ready: re.Pattern[str],
        pipe: Path,
    ) -> Process:
        """Fork a fake. `pipe` is a path, not there yet, for the named pipe that its output goes through."""
        output = Output(log, ready)
        try:
            os.mkfifo(pipe, 0o600)
            output.read_from(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
            asked = {"kind": kind, "argv": list(argv), "env": dict(env), "cwd": str(cwd)}
            pid = await self._fork({**asked, "stdout": str(pipe), "stderr": str(pipe)})
            pidfd = os.pidfd_open(pid)
        except BaseException:
            output.close()
            raise
        return Process(name, (sys.executable, "-m", _MODULES[kind], *argv), pid, output, self._exit_of(pid), pidfd)

    async def _fork(self, asked: dict[str, Any]) -> int:
        async with self._one_at_a_time:
            self._writer.write(json.dumps(asked).encode() + b"\n")
            await self._writer.drain()
            return await within(
                _FORKED_S, "a fake from the warm process", self._forked.get(), self._process.output.tail
            )

    async def _listen(self) -> None:
        while line := await self._reader.readline():
            message = json.loads(line)
            if "exit" in message:
                future = self._exit_of(message["pid"])
                if not future.done():
                    future.set_result(message["exit"])
            else:
                self._forked.put_nowait(message["pid"])

    def _exit_of(self, pid: int) -> asyncio.Future[int]:
        return self._exits.setdefault(pid, asyncio.get_running_loop().create_future())

    async def close(self) -> None:
        """End the warm process; fakes that still run are the guardian's to end."""
        self._writer.close()
        with contextlib.suppress(asyncio.CancelledError):
            self._listening.cancel()
            await self._listening
        await self._process.end()
        await self._process.read_to_end()
        self._process.output.close()


_MODULES = {"decoder": "fakes.decoder_server", "engine": "fakes.engine_server", "provider": "fakes.provider"}
