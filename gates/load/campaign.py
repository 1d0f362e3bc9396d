"""One campaign from the first process to the verdict."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

import aiohttp

from gates.load.clients import load
from gates.load.evidence import Evidence, read_journals, read_metrics
from gates.load.fleet import Fleet, passed
from gates.load.judge import GAUGES
from gates.load.options import Options
from gates.load.work import works
from harness.deadline import until
from harness.errors import DeadlineMissed
from harness.left_behind import Descriptors, descriptors
from harness.processes import Guardian, Process

EARLY = 1_000
"""Memory is looked at after so many requests, and at the end."""
SETTLED_S = 15.0


async def campaign(options: Options, folder: Path) -> Evidence:
    """Everything that was seen. Whatever was started has ended when this returns."""
    guardian = Guardian()
    guardian.listen()
    try:
        return await _Campaign(options, Fleet(guardian, folder, options)).run()
    finally:
        guardian.close()


class _Campaign:
    def __init__(self, options: Options, fleet: Fleet) -> None:
        self.options = options
        self.fleet = fleet
        self.memory: dict[int, int] = {}
        self._n_ended = 0

    async def run(self) -> Evidence:
        random = Random(self.options.seed)
        router, url, reference = await self.fleet.start()
        await self._metrics_once(url, {"kvgate_decoder_ready": self.options.decoders})
        before = descriptors(router.pid)
        over, started = asyncio.Event(), time.perf_counter()
        killing = asyncio.create_task(self._kill(over, Random(self.options.seed)))
        try:
            seen = await load(
                url, reference, works(self.options, random), self.options.clients, lambda _: self._ended(router)
            )
        finally:
            over.set()
            await killing
        wall_s = time.perf_counter() - started
        metrics = await self._metrics_once(
            url, {name: 0 for name in GAUGES} | {"kvgate_decoder_ready": self.options.decoders}
        )
        self.memory[len(seen)] = resident_bytes(router.pid)
        left = await self._left_while_running(router, before)
        status = await self._end(router)
        left += await self._left_after()
        return Evidence(
            self.options,
            seen,
            self.fleet.router_log(),
            metrics,
            read_journals(self.fleet.journals()),
            self.fleet.kills,
            self.memory,
            left,
            status,
            wall_s,
        )

    def _ended(self, router: Process) -> None:
        self._n_ended += 1
        if self._n_ended == min(EARLY, max(1, self.options.requests // 2)):
            self.memory[self._n_ended] = resident_bytes(router.pid)

    async def _kill(self, over: asyncio.Event, random: Random) -> None:
        while self.options.kill_every_s and not await passed(over, self.options.kill_every_s):
            await self.fleet.kill_one(random)

    async def _metrics_once(self, url: str, wanted: Mapping[str, float]) -> Mapping[str, float]:
        """The metrics as soon as they are `wanted`, or what they are after `SETTLED_S`."""
        found: dict[str, float] = {}

        async def settled() -> bool | None:
            async with aiohttp.ClientSession() as http, http.get(url + "/metrics") as answer:
                found.clear()
                found.update(read_metrics(await answer.text()))
            sums = {name: sum(v for k, v in found.items() if k.partition("{")[0] == name) for name in wanted}
            return True if sums == wanted else None

        with suppress(DeadlineMissed):
            await until(SETTLED_S, f"the router to show {wanted}", settled)
        return found

    async def _left_while_running(self, router: Process, before: Descriptors) -> list[str]:
        """When its decoders have ended nothing keeps a connection of the router's open."""
        await self.fleet.end_decoders()
        found: list[str] = []

        async def gone() -> bool | None:
            found[:] = descriptors(router.pid).more_than(before)
            connected = established(router.pid)
            found.extend([f"{connected} connections are open and nobody is at their other end"] if connected else [])
            files = [path.name for path in self.fleet.slots.iterdir() if not path.name.endswith(".lock")]
            found.extend(f"the state file {name}" for name in files)
            return None if found else True

        with suppress(DeadlineMissed):
            await until(SETTLED_S, "the router to let go of what the requests needed", gone)
        return found

    async def _end(self, router: Process) -> int | None:
        ended = await router.end()
        await router.read_to_end()
        return ended.status

    async def _left_after(self) -> list[str]:
        files = [
            f"the file {path.name}" for folder in (self.fleet.slots, self.fleet.scratch) for path in folder.iterdir()
        ]
        living = await self.fleet.guardian.processes()
        ours = ("fakes.decoder_server",)
        return files + [
            f"the process {each['command'][:80]}"
            for each in living
            if not any(name in each["command"] for name in ours)
        ]


def resident_bytes(pid: int) -> int:
    """A process's resident memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def established(pid: int) -> int:
    """How many TCP connections a process has open."""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(row[9] in inodes and row[3] == "01" for row in rows)
