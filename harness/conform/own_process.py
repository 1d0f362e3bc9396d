"""For clauses about starting and ending: each starts its own decoder, sees its log, and its end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.conform.clause import Broken
from harness.conform.decoder import Decoder
from harness.conform.setting import Setting
from harness.conform.target import Target
from harness.deadline import within
from harness.errors import HarnessError
from harness.processes import Guardian, Process

END_S = 10.0
READY_S = 60.0


@dataclass(slots=True)
class Ended:
    """How a process ended and what it wrote."""

    status: int
    log: str


@dataclass(slots=True)
class OwnProcess:
    """Starts processes of the decoder under test."""

    guardian: Guardian
    decoder: Decoder
    folder: Path
    _count: int = field(default=0)

    def path(self, name: str) -> Path:
        """A path that nobody else has."""
        self._count += 1
        return self.folder / f"own-{self._count}-{name}"

    def usual(self, *flags: str, port: int = 0) -> tuple[str, ...]:
        """A command line that would start."""
        return self.decoder.words(("-np", "1", "-c", "512", "--cache-ram", "0", *flags), port=port)

    def slow(self, *flags: str, port: int) -> tuple[str, ...]:
        """The same, and a fake takes a moment to load."""
        return (*self.usual(*flags, port=port), *self.decoder.slow_load)

    async def start(self, words: Sequence[str], **environ: str) -> Process:
        """Started, ready or not."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(("LLAMA_ARG_", "FAKE_"))}
        name = self.path("server").name
        return await self.decoder.launch(self.guardian, words, folder=self.folder, name=name, env={**env, **environ})

    async def ended(self, process: Process) -> Ended:
        """How it ends, Broken if it does not."""
        try:
            status = await within(END_S, "the process to end", asyncio.shield(process.exited))
            await process.read_to_end()
            process.output.close()
        except HarnessError as missed:
            await process.end(0.1)
            process.output.close()
            raise Broken(str(missed).partition("\n")[0]) from None
        return Ended(status, process.output.path.read_text(errors="replace"))

    async def end_of(self, words: Sequence[str], **environ: str) -> Ended:
        """A start that is expected to fail."""
        return await self.ended(await self.start(words, **environ))

    @asynccontextmanager
    async def running(self, words: Sequence[str], *, prefix: str = "", **environ: str) -> AsyncIterator[Running]:
        """A decoder that is ready. It has ended when the block is left."""
        process = await self.start(words, **environ)
        try:
            url = (await process.ready(READY_S))["url"]
            target = Target(url, Setting((), prefix=prefix), folder=self.folder, log=process.output.path)
            # Some say that they listen a moment before they handle signals.
            await target.complete(target.prompt(4), 1)
            yield Running(process, target)
        finally:
            await process.end(2.0)
            process.output.close()


@dataclass(slots=True)
class Running:
    """A decoder of the probe's own."""

    process: Process
    target: Target


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
