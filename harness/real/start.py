"""Start a real server and wait until it is ready, knowing afterwards what was started.

A native build can die of its own weight repacking while it loads (a compiler's fault on some processors). It is
then started once more with `--no-repack`, and the notes say so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import DeadlineMissed, ProcessDied
from harness.processes import Guardian, Process
from harness.real.errors import ServerDied
from harness.real.server import Server

READY = re.compile(r"listening on (?P<url>http://\S+)")
LOAD_DEADLINE_S = 300.0
NO_REPACK = "--no-repack"
_NO_REPACK_SPELLINGS = ("-nr", NO_REPACK, "--no_repack")


@dataclass(frozen=True, slots=True)
class Started:
    """A server that is ready. `server.notes` say what had to be done to get there."""

    server: Server
    process: Process
    flags: tuple[str, ...]
    url: str


async def start(
    guardian: Guardian,
    server: Server,
    flags: Sequence[str],
    *,
    folder: Path,
    name: str = "decoder",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    deadline_s: float = LOAD_DEADLINE_S,
) -> Started:
    """Start it in `cwd`, with its log in `folder` as `NAME.log`. ServerDied if it does not become ready."""
    log = folder / f"{name}.log"
    process = await _begin(guardian, server, name, flags, cwd or folder, log, env)
    try:
        ready = await process.ready(deadline_s)
    except BaseException as failure:
        await process.dismiss()
        if not isinstance(failure, DeadlineMissed | ProcessDied):
            raise
        if isinstance(failure, DeadlineMissed) or not _may_be_repacking(server, process, flags):
            raise ServerDied(f"{failure}\n  its log: {log}") from failure
    else:
        return Started(server, process, (*flags, *server.flags), ready["url"])
    status = process.exited.result()
    noted = replace(server, notes=(*server.notes, f"died at load (signal {-status}), started with {NO_REPACK}"))
    return await start(
        guardian,
        noted,
        (*flags, NO_REPACK),
        folder=folder,
        name=f"{name}.no-repack",
        cwd=cwd,
        env=env,
        deadline_s=deadline_s,
    )


async def _begin(
    guardian: Guardian,
    server: Server,
    name: str,
    flags: Sequence[str],
    cwd: Path,
    log: Path,
    env: Mapping[str, str] | None,
) -> Process:
    try:
        return await guardian.start(
            f"{name} ({server.name})",
            (*server.argv, *flags, *server.flags),
            env=os.environ if env is None else env,
            cwd=cwd,
            log=log,
            ready=READY,
        )
    except ProcessDied as died:
        raise ServerDied(str(died)) from died


def _may_be_repacking(server: Server, process: Process, flags: Sequence[str]) -> bool:
    """Killed by a signal of its own, native, and not yet told to leave the weights alone."""
    return process.exited.result() < 0 and server.native and not {*flags, *server.flags} & set(_NO_REPACK_SPELLINGS)
