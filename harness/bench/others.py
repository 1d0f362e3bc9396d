"""Routers of others in the same run, for comparison: what they add to a request, and what they let through.

They are no part of kvgate's needs: `pip install -e '.[bench]'` brings them, and where one is missing that is said.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import statistics
import sys
import time
from pathlib import Path

from harness.bench.fake_decoder import CONNECTIONS
from harness.bench.load import run
from harness.bench.page import Row
from harness.bench.router import Pair, added_ms, chat, loaded
from harness.bench.stage import Server, Stage
from harness.deadline import until
from harness.errors import DeadlineMissed

_NAMES = ("vllm-router", "smg")
_FIRST_WORDS = {"smg": ("launch",)}
_READY_S = 60.0
_BOUND = "for comparison"
_ROUNDS = 3


async def others(stage: Stage) -> list[Row]:
    """Rows without a bound of ours."""
    rows = []
    for name in _NAMES:
        program = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
        if program is None:
            rows.append(Row(f"{name}: not measured", _BOUND, "-", None, "not installed: pip install -e '.[bench]'"))
        else:
            rows += await _measured_or_why_not(stage, name, program)
    return rows


async def _measured_or_why_not(stage: Stage, name: str, program: str) -> list[Row]:
    """What is wrong with another router must not keep our own figures from being kept."""
    try:
        return await _measured(stage, name, program)
    except (DeadlineMissed, RuntimeError) as error:
        why = str(error).splitlines()[0]
        return [Row(f"{name}: not measured", _BOUND, "-", None, why)]


async def _measured(stage: Stage, name: str, program: str) -> list[Row]:
    decoder = await stage.decoder("--parallel", str(CONNECTIONS), "-c", str(CONNECTIONS * 1024))
    pair = Pair(await _started(stage, name, program, decoder), decoder)
    latency, first_chunk = await added_ms(pair, stream=False), await added_ms(pair, stream=True)
    requests = [chat(connection) for connection in range(CONNECTIONS)]
    ratios = []
    for _ in range(_ROUNDS):
        through, alone = await loaded(pair.router, requests, 60), await loaded(pair.decoder, requests, 60)
        ratios.append(through.requests_per_s / alone.requests_per_s)
    await pair.end()
    how = "one worker, round robin; nothing is pinned or handed over"
    return [
        Row(f"{name}: added latency", _BOUND, f"{latency:.3g} ms", None, how),
        Row(f"{name}: added time to the first streamed chunk", _BOUND, f"{first_chunk:.3g} ms", None, how),
        Row(f"{name}: requests/s against the backend alone", _BOUND, f"{statistics.median(ratios):.3g}", None, how),
    ]


async def _started(stage: Stage, name: str, program: str, decoder: Server) -> Server:
    port, metrics = _free_ports()
    words = [program, *_FIRST_WORDS.get(name, ()), "--host", "127.0.0.1", "--port", str(port)]
    words += ["--worker-urls", decoder.url, "--policy", "round_robin", "--prometheus-port", str(metrics)]
    words += ["--log-level", "error"]
    started = time.perf_counter()
    process = await stage.guardian.start(
        name, words, env=stage.environment, cwd=stage.folder, log=stage.file(f"{name}.log")
    )

    async def serves() -> bool | None:
        try:
            load = await asyncio.to_thread(run, port, [chat(0)], 1)
        except ExceptionGroup as errors:
            if errors.subgroup(OSError) is None:
                raise
            return None
        return None if load.failed else True

    await until(_READY_S, f"{name} to serve", serves, process.output.tail)
    return Server(port, process, time.perf_counter() - started)


def _free_ports() -> tuple[int, int]:
    """Two ports that were free a moment ago; these programs cannot choose one themselves."""
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1]), int(other.getsockname()[1])
