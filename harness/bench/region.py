"""The shared route: the time from the provider's exit to the adopt must not grow with the region."""

from __future__ import annotations

import asyncio
import json
import shlex
import statistics
from pathlib import Path
from urllib.request import Request, urlopen

from harness.bench.page import Row
from harness.bench.stage import PYTHON, Stage

TOKENS = 30_000
_BYTES_PER_CELL = 1024
_MODEL = "toy:layers=2,row_bytes=256"
_SIZES_MIB = (64, 256, 1024)
_FLAT = 3.0
_TIMES = 3
_TIMEOUT_S = 300.0


async def handoff(stage: Stage) -> list[Row]:
    times = [await _exit_to_adopt_ms(stage, mib * 2**20 // _BYTES_PER_CELL) for mib in _SIZES_MIB]
    shown = ", ".join(f"{mib} MiB {ms:.1f} ms" for mib, ms in zip(_SIZES_MIB, times, strict=True))
    ratio = max(times) / min(times)
    what = f"region handoff of {TOKENS} tokens, provider's exit to adopt"
    bound = f"flat: slowest at most {_FLAT:g} times the fastest"
    return [Row(what, bound, f"{ratio:.2f} times", ratio <= _FLAT, shown)]


async def _exit_to_adopt_ms(stage: Stage, cells: int) -> float:
    journals = {who: stage.file(f"{who}.jsonl") for who in ("decoder", "provider")}
    saves = stage.file("slots")
    saves.mkdir(mode=0o700)
    flags = ["--parallel", "1", "-c", str(cells), "-m", _MODEL]
    # Slot actions, share and adopt among them, are served only with a folder for slot files.
    decoder = await stage.decoder(*flags, "--slot-save-path", str(saves), "--journal", str(journals["decoder"]))
    provider = shlex.join([PYTHON, "-m", "fakes.provider", "--journal", str(journals["provider"])])
    router = await stage.router("--decoder", decoder.url, "--provider", provider, "--kv-share")
    for first in range(_TIMES):
        await asyncio.to_thread(_complete, router.url, first)
    await router.process.end()
    await decoder.process.end()
    ended, adopted = (_times_ns(journals[who], event) for who, event in (("provider", "end"), ("decoder", "adopt")))
    return statistics.median(to - since for since, to in zip(ended, adopted, strict=True)) / 1e6


def _complete(url: str, first: int) -> None:
    """A prompt that has nothing in common with those of another `first`."""
    body = {"prompt": [300 + (first + n) % 200 for n in range(TOKENS)], "max_tokens": 1, "temperature": 0}
    request = Request(f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=_TIMEOUT_S) as reply:
        json.load(reply)


def _times_ns(journal: Path, event: str) -> list[int]:
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    found = [int(entry["t_ns"]) for entry in entries if entry["event"] == event]
    if len(found) != _TIMES:
        raise RuntimeError(f"{journal.name} has {len(found)} {event!r} entries instead of {_TIMES}")
    return found
