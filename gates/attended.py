"""A scenario that somebody attends: a gate's own client, or a look at the processes, while everything runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from gates.commands import ROOT, ROUTER
from harness.plan import Folders, Options
from harness.profiles import KVGATE_ROUTER, Build
from harness.record import Record
from harness.run import Run
from harness.scenario_file import load
from harness.session import Session

Attend = Callable[[Run, Coroutine[Any, Any, None]], Awaitable[None]]


def attended(session: Session, folder: Path, scenario: str, attend: Attend, *, real: bool = False) -> Record:
    """The record of a run of `scenario` (YAML) in front of our router, with nothing left behind."""
    file = folder / "attended.yaml"
    file.write_text(scenario)
    build = Build("build", (ROUTER,), KVGATE_ROUTER, {"PYTHONPATH": str(ROOT)})
    run = Run(session, load(file), build, Folders(folder, session.next_scratch()), Options(real=real), attend=attend)
    record = session.run(run.act())
    assert run.cast.findings == []
    assert run.cast.errors == []
    return record


def with_client(use: Callable[[str], Any], kept: list[Any]) -> Attend:
    """An ordinary blocking client of the router, in a thread of its own; what it returns is kept."""

    async def attend(run: Run, asking: Coroutine[Any, Any, None]) -> None:
        kept.append(await asyncio.to_thread(use, run.cast.urls["build"]))
        await asking

    return attend
