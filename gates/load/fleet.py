"""The processes of a campaign: decoders that are killed and come back, the reference, the router before them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from gates.commands import ROOT, ROUTER
from gates.load.options import Options
from gates.load.work import MIN_PREFILL_TOKENS
from harness.processes import Guardian, Process

LISTENING = re.compile(r"listening on (?P<url>http://\S+)")
SERVING = re.compile(r"listening on (?P<url>http://[^\s\"]+)")
READY_S = 60.0
_SHAREABLE = "toy"
_HYBRID_LIKE = ("--fault", "kvshare-refuse")
"""Half of the decoders: their handoffs go by state file."""


@dataclass(slots=True)
class Fleet:
    """Everything that runs, each in a process of its own below one guardian."""

    guardian: Guardian
    folder: Path
    options: Options
    decoders: list[Process] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    kills: int = 0
    _started: int = 0

    @property
    def slots(self) -> Path:
        return self.folder / "slots"

    @property
    def scratch(self) -> Path:
        """Where the router has its sockets."""
        return self.folder / "tmp"

    def journals(self) -> list[Path]:
        return sorted(self.folder.glob("decoder-*.jsonl"))

    def router_log(self) -> list[dict[str, Any]]:
        """The router's lines. What is not JSON is not the router's."""
        lines = (self.folder / "router.log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    async def start(self) -> tuple[Process, str, str]:
        """The router, its URL, and the reference's."""
        for folder in (self.slots, self.scratch):
            folder.mkdir(mode=0o700)
        for index in range(self.options.decoders):
            self.urls.append("")
            self.decoders.append(await self._decoder(index, free_port()))
        reference = await self._fake("reference", "--port", "0", "-np", "16", "-c", str(16 * 1024), "--cache-ram", "0")
        router = await self._router()
        return router, (await router.ready(READY_S))["url"], (await reference.ready(READY_S))["url"]

    async def kill_one(self, random: Random) -> None:
        """A decoder dies where it stands and comes back behind its address."""
        index = random.randrange(len(self.decoders))
        old = self.decoders[index]
        old.send(signal.SIGKILL)
        await old.end()
        await old.read_to_end()
        self.kills += 1
        self.decoders[index] = await self._decoder(index, int(self.urls[index].rpartition(":")[2]))

    async def end_decoders(self) -> None:
        for process in self.decoders:
            await process.end()

    async def _decoder(self, index: int, port: int) -> Process:
        self._started += 1
        name = f"decoder-{index}.{self._started}"
        words = ["-np", str(self.options.slots), "-c", str(self.options.slots * 1024), "--cache-ram", "0"]
        words += ["--slot-save-path", str(self.slots), "--journal", str(self.folder / f"{name}.jsonl")]
        words += _HYBRID_LIKE if index % 2 else ()
        process = await self._fake(name, "--port", str(port), *words)
        self.urls[index] = (await process.ready(READY_S))["url"]
        return process

    async def _fake(self, name: str, *words: str) -> Process:
        argv = [sys.executable, "-m", "fakes.decoder_server", "-m", _SHAREABLE, *words]
        return await self._process(name, argv, LISTENING)

    async def _router(self) -> Process:
        provider = shlex.join([sys.executable, "-m", "fakes.provider"])
        words = ["--port", "0", "--decoder", *self.urls, "--log-format", "json", "--kv-share"]
        words += ["--provider", provider, "--slot-save-path", str(self.slots)]
        words += ["--min-prefill-tokens", str(MIN_PREFILL_TOKENS)]
        return await self._process("router", [ROUTER, "serve", *words], SERVING)

    async def _process(self, name: str, argv: Sequence[str], ready: re.Pattern[str]) -> Process:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.scratch)}
        log = self.folder / f"{name}.log"
        return await self.guardian.start(name, argv, env=env, cwd=self.folder, log=log, ready=ready)


def free_port() -> int:
    """A port outside the range that outgoing connections take theirs from: it is still free when its decoder has
    died and comes back."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in Random(os.urandom(8)).sample(range(10_000, lowest), 1000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")


async def passed(event: asyncio.Event, seconds: float) -> bool:
    """Whether `event` came within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
