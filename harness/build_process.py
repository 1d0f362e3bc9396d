"""Starts the build under test, and knows when it is ready."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

import aiohttp

from harness.deadline import until
from harness.errors import HarnessError, ProcessDied
from harness.plan import Folders
from harness.processes import Guardian, Process, ended_how
from harness.profiles import ReadyLine, ReadyPath


def free_port() -> int:
    """A port that was free a moment ago, for a build that cannot be told to choose one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def start_build(
    guardian: Guardian,
    argv: Sequence[str],
    env: Mapping[str, str],
    ready: ReadyLine | ReadyPath,
    folders: Folders,
    log: str = "build.log",
) -> Process:
    """Started, not yet ready. ProcessDied where the command cannot be run."""
    return await guardian.start(
        "the build",
        argv,
        env=env,
        cwd=folders.cwd,
        log=folders.evidence / log,
        ready=ready.pattern if isinstance(ready, ReadyLine) else None,
    )


async def rpc_address(process: Process, ready: ReadyLine | ReadyPath, rpc_port: int) -> tuple[str, int]:
    """Where the RPC port of an engine that is ready is."""
    if isinstance(ready, ReadyPath):
        return "127.0.0.1", rpc_port
    line = await process.ready(1.0)
    if line.groupdict().get("rpc") is None:
        raise HarnessError(f"the line {line[0]!r} does not say where the engine's RPC port is: a group rpc is wanted")
    host, _, port = line["rpc"].rpartition(":")
    return host, int(port)


async def wait_ready(process: Process, ready: ReadyLine | ReadyPath, port: int, seconds: float) -> str:
    """Where the build listens. ProcessDied if it ends first, DeadlineMissed if it is never ready."""
    if isinstance(ready, ReadyLine):
        return str((await process.ready(seconds))["url"]).rstrip("/")
    url = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession() as http:

        async def answers() -> bool | None:
            if not process.running:
                how = ended_how(process.exited.result())
                raise ProcessDied(f"{process.name} {how} before it was ready\n{process.output.tail()}")
            try:
                async with http.get(url + ready.path) as response:
                    return True if response.status == 200 else None
            except aiohttp.ClientError:
                return None

        await until(seconds, f"{process.name} to answer 200 at {ready.path}", answers, process.output.tail)
    return url
