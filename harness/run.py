"""One run of one scenario: what is asked of the processes, and the record of it. It acts; it judges nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from harness.asking import Around, Asking
from harness.cast import Cast
from harness.checks.shape import looks
from harness.deadline import within
from harness.errors import HarnessError
from harness.http_session import got, open_http
from harness.interventions import Until
from harness.plan import Folders, Options
from harness.profiles import Build
from harness.record import Done, Exchange, FileEvent, Record, StepRecord
from harness.reference import Prepared, prepare
from harness.scenario import Scenario
from harness.session import Session
from harness.steps.act import Actor
from harness.steps.spec import files_made
from harness.watch import FolderWatch


@dataclass(slots=True)
class Run:
    """The state of one run, from its start until its record can be read.

    `attend` is somebody who wants to be there while requests are asked: it is handed the run, all started, and the
    asking, which it has to await.
    """

    session: Session
    scenario: Scenario
    build: Build
    folders: Folders
    options: Options
    attend: Callable[[Run, Coroutine[Any, Any, None]], Awaitable[None]] | None = None
    cast: Cast = field(init=False)
    _watch: FolderWatch | None = None
    _files: tuple[FileEvent, ...] | None = None
    _asking: Asking | None = None
    _steps: tuple[StepRecord, ...] = ()
    _metrics: str | None = None
    _slots: Any = None
    _record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        self.cast = Cast(self.session, self.scenario, self.build, self.folders, self.options)

    async def act(self) -> Record:
        """The record. HarnessError where the run could not be made; all has ended then too."""
        self.folders.make()
        try:
            budget = self.scenario.budget_s
            await within(budget, "the whole scenario (its budget_s)", self._start_and_ask(), self.cast.tails)
        finally:
            await asyncio.shield(asyncio.ensure_future(self._end()))
        return self._record

    async def _start_and_ask(self) -> None:
        prepared, _ = await _both(self._prepared(), self.cast.start())
        self._watch = FolderWatch({"slot-save": self.folders.slots, "tmp": self.folders.tmp})
        self.cast.count_descriptors()
        async with open_http() as http:
            await self._do_steps(http)
            self._asking = Asking(http, self.folders.evidence, self._around(http))
            asking = self._asking.all(prepared, self.scenario.interventions)
            await (asking if self.attend is None else self.attend(self, asking))
            await self._look_around(http)
        await self.cast.find_descriptors()
        self._files, self._watch = self._watch.close(), None

    async def _prepared(self) -> tuple[Prepared, ...]:
        wants_plain = bool(self.scenario.note) or self._uses("reply.parity")
        return await prepare(self.session, self.scenario, self.build, self.folders, self.options, plain=wants_plain)

    def _uses(self, key: str) -> bool:
        return any(look.key == key for named in self.scenario.checks for look in looks(named.check))

    def _metered(self) -> frozenset[str]:
        """The steps whose growth of the metrics a check looks at."""
        asked = [look for named in self.scenario.checks for look in looks(named.check) if look.key == "step.metrics"]
        names = {step.name for step in self.scenario.steps if any(look.request in (None, step.name) for look in asked)}
        return frozenset(names)

    async def _do_steps(self, http: aiohttp.ClientSession) -> None:
        if not self.scenario.steps:
            return
        cast, random = self.cast, Random(self.scenario.seed)
        engines, metered = cast.engine_addresses(), self._metered()
        actor = Actor(http, cast.url, self.folders.slots, random, cast.restart, engines, metered)
        try:
            await actor.all(self.scenario.steps)
        finally:
            self._steps = tuple(actor.done.values())
            for name in files_made(self.scenario.steps):
                (self.folders.slots / name).unlink(missing_ok=True)

    def _around(self, http: aiohttp.ClientSession) -> Around:
        async def look(act: Until, exchanges: tuple[Exchange, ...], done: tuple[Done, ...]) -> Record:
            keys = {each.key for each in looks(act.check)}
            metrics = await self._metrics_page(http) if "metrics" in keys else None
            slots = await self._slots_page(http) if "slots" in keys else None
            return Record(
                exchanges=exchanges,
                logs=self.cast.logs(so_far=True),
                journals=self.cast.journals(so_far=True),
                metrics=metrics,
                slots=slots,
                done=done,
            )

        def control(who: str) -> Path:
            return self.folders.scratch / f"{who}.sock"

        return Around(lambda: self.cast.url, look, self.cast.send, self.cast.start_again, control, self.cast.tails)

    async def _look_around(self, http: aiohttp.ClientSession) -> None:
        """What the build and the decoder say of themselves, where a check asks."""
        if self._uses("metrics"):
            self._metrics = await self._metrics_page(http)
        if self._uses("slots") and "decoder" in self.cast.decoders:
            self._slots = await self._slots_page(http)

    async def _metrics_page(self, http: aiohttp.ClientSession) -> str | None:
        page = await got(http, f"{self.cast.url}/metrics")
        return None if page.failure else page.text

    async def _slots_page(self, http: aiohttp.ClientSession) -> Any:
        page = await got(http, f"{self.cast.decoders['decoder'].url}/slots")
        return None if page.failure else json.loads(page.text)

    async def _end(self) -> None:
        await self.cast.end()
        self._record = self._recorded()
        self._write_client_log()

    def _recorded(self) -> Record:
        if self._watch is not None:
            self._watch.close()
        asking = self._asking
        self._trust(asking)
        return Record(
            () if asking is None else tuple(asking.exchanges),
            self.cast.logs(),
            self.cast.journals(),
            self._files,
            self.cast.exits,
            self._metrics,
            self._slots,
            self._steps,
            () if asking is None else tuple(asking.done),
        )

    def _trust(self, asking: Asking | None) -> None:
        """What was waited for in vain, and is looked at by no check, makes everything after it worth nothing."""
        missed = [] if asking is None else [each for each in asking.done if each.missed]
        if missed and not self._uses("did"):
            self.cast.errors.append(f"what the scenario waited for did not come: {missed[0].missed}")

    def _write_client_log(self) -> None:
        lines = (json.dumps(asdict(exchange), default=str) for exchange in self._record.exchanges)
        (self.folders.evidence / "client.jsonl").write_text("".join(f"{line}\n" for line in lines))
        if self.scenario.steps:
            steps = (json.dumps(asdict(step), default=str) for step in self._steps)
            (self.folders.evidence / "steps.jsonl").write_text("".join(f"{line}\n" for line in steps))


async def _both(first: Any, second: Any) -> tuple[Any, Any]:
    """Both at once; where one fails the other is cancelled, and the failure comes out as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = group.create_task(first), group.create_task(second)
    except BaseExceptionGroup as failed:
        raise _first(failed.exceptions) from None
    return tasks[0].result(), tasks[1].result()


def _first(errors: Iterable[BaseException]) -> BaseException:
    """Of several failures that of the harness's own making is the one that explains."""
    ranked = sorted(errors, key=lambda error: not isinstance(error, HarnessError))
    return ranked[0]
