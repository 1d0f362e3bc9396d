"""What every measurement stands on: processes under one guardian, in a folder that is gone afterwards."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.processes import Guardian, Process

READY_S = 60.0
_LISTENING = re.compile(r"listening on http://127\.0\.0\.1:(?P<port>\d+)")
_CANNED = re.compile(r"^(?P<port>\d+)$")

PYTHON = sys.executable
ROUTER = str(Path(sys.executable).parent / "kvgate-router")


@dataclass(frozen=True, slots=True)
class Server:
    """A started server: where it listens, and how long it took to say so."""

    port: int
    process: Process
    ready_s: float

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def resident_bytes(self) -> int:
        """Memory that it holds now, of shared libraries too."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class Stage:
    """Starts servers; everything it started ends with it."""

    guardian: Guardian
    folder: Path
    environment: dict[str, str]
    _named: int = 0

    def file(self, name: str) -> Path:
        """A path of its own for every call."""
        self._named += 1
        return self.folder / f"{self._named}-{name}"

    async def start(self, name: str, argv: Sequence[str], ready: re.Pattern[str] = _LISTENING) -> Server:
        started = time.perf_counter()
        process = await self.guardian.start(
            name, argv, env=self.environment, cwd=Path.cwd(), log=self.file(f"{name}.log"), ready=ready
        )
        match = await process.ready(READY_S)
        return Server(int(match["port"]), process, time.perf_counter() - started)

    async def decoder(self, *flags: str) -> Server:
        """The fake decoder, its slots empty and its timing instant."""
        argv = [PYTHON, "-m", "fakes.decoder_server", "--port", "0", "-m", "toy", "--cache-ram", "0", *flags]
        return await self.start("decoder", argv)

    async def router(self, *flags: str) -> Server:
        return await self.start("router", [ROUTER, "serve", "--port", "0", *flags])

    async def canned(self, body: bytes, chunks: int = 1) -> Server:
        """The reference server of `harness.bench.canned`."""
        file = self.file("body.json")
        file.write_bytes(body)
        return await self.start("canned", [PYTHON, "-m", "harness.bench.canned", str(file), str(chunks)], _CANNED)


@asynccontextmanager
async def stage(environment: dict[str, str]) -> AsyncIterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="kvgate-bench-") as folder:
        guardian = Guardian()
        guardian.listen()
        try:
            yield Stage(guardian, Path(folder), environment)
        finally:
            guardian.close()
