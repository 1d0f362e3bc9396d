"""Two servers, one model, some prompts: every pair of replies read by `triage`, with the controls of both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from harness.http_session import open_http
from harness.models.gguf_head import Head
from harness.processes import Guardian
from harness.proof.parity.observe import Asked, Decoder
from harness.proof.parity.prompts import Prompt
from harness.proof.parity.triage import Finding, Reading, noise_floor, triage
from harness.real import Server
from harness.real.start import Started, start

SLOTS = ("--parallel", "2", "--cache-ram", "0")
EXACT = ("-fa", "off", "-ctk", "f32", "-ctv", "f32")
"""Where weights are floats, attention and cache are kept from rounding them."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is compared. `flags` come after ours, so they win."""

    servers: tuple[Server, Server]
    model: Path
    head: Head
    prompts: tuple[Prompt, ...]
    n_predict: int
    flags: tuple[str, ...]
    folder: Path

    @property
    def all_flags(self) -> tuple[str, ...]:
        exact = () if self.head.quantised else EXACT
        return ("-m", str(self.model), "--host", "127.0.0.1", "--port", "0", "-c", "4096", *SLOTS, *exact, *self.flags)


@dataclass(frozen=True, slots=True)
class Compared:
    """One prompt on both builds. `controls` is each build against itself, cold and warm."""

    prompt: tuple[int, ...]
    asked: tuple[Asked, Asked]
    finding: Finding
    controls: tuple[Finding, Finding]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The whole comparison."""

    job: Job
    started: tuple[Server, Server]
    floor: float
    compared: tuple[Compared, ...]

    @property
    def reading(self) -> Reading:
        """The worst; nothing comparable at all is not comparable."""
        readings = [each.finding.reading for each in self.compared]
        if Reading.DIFFERENT in readings:
            return Reading.DIFFERENT
        comparable = [reading for reading in readings if reading is not Reading.NOT_COMPARABLE]
        if not comparable:
            return Reading.NOT_COMPARABLE
        return Reading.NEAR_TIE if Reading.NEAR_TIE in comparable else Reading.SAME


def compare(job: Job) -> Outcome:
    """Blocking. HarnessError where a server cannot be had or asked."""
    return asyncio.run(_compare(job))


async def _compare(job: Job) -> Outcome:
    guardian = Guardian()
    guardian.listen()
    try:
        async with open_http() as http:
            first = await _asked(guardian, http, job, 0, job.prompts)
            second = await _asked(guardian, http, job, 1, [each.prompt for each in first[1]])
    finally:
        guardian.close()
    pairs = list(zip(first[1], second[1], strict=True))
    floor = noise_floor((each.cold, each.warm) for pair in pairs for each in pair)
    compared = tuple(_compared(pair, floor, job.head.quantised) for pair in pairs)
    return Outcome(job, (first[0].server, second[0].server), floor, compared)


async def _asked(
    guardian: Guardian, http: aiohttp.ClientSession, job: Job, which: int, prompts: Sequence[Prompt]
) -> tuple[Started, list[Asked]]:
    """One build after the other, so that neither slows the other down. The second gets the first one's ids."""
    name = "ab"[which]
    started = await start(guardian, job.servers[which], job.all_flags, folder=job.folder, name=name)
    try:
        decoder = Decoder(http, started.url)
        return started, [await decoder.both(await decoder.ids(prompt), job.n_predict) for prompt in prompts]
    finally:
        await started.process.dismiss()


def _compared(pair: tuple[Asked, Asked], floor: float, quantised: bool) -> Compared:
    one, other = pair
    finding = triage(one.cold, other.cold, floor=floor, quantised=quantised)
    controls = tuple(triage(each.cold, each.warm, floor=floor, quantised=quantised) for each in pair)
    return Compared(one.prompt, pair, finding, (controls[0], controls[1]))
