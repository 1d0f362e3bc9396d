"""Asks what a scenario asks, in its order, and does what it wants done in between. It judges nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from harness.checks.evaluate import evaluate
from harness.clients import Sent, exchange, request_body
from harness.deadline import until
from harness.errors import DeadlineMissed, HarnessError
from harness.interventions import Hold, Intervention, Leave, Release, Send, SetFaults, Start, Until
from harness.record import Done, Exchange, Record, Reply
from harness.reference import Prepared
from harness.result import Status
from harness.scenario import RequestSpec

_CONTROL_S = 10.0
_LEFT_S = 5.0


@dataclass(frozen=True, slots=True)
class Around:
    """What an asking needs of the run it is part of.

    `url` is where the build listens now; `look` reads what there is so far for a check, with the exchanges that have
    ended and the interventions made. `control` is the control socket of a fake.
    """

    url: Callable[[], str]
    look: Callable[[Until, tuple[Exchange, ...], tuple[Done, ...]], Awaitable[Record]]
    send: Callable[[str, Send], Awaitable[None]]
    start: Callable[[str, Start], Awaitable[None]]
    control: Callable[[str], Path]
    tails: Callable[[], str]


@dataclass(slots=True)
class Asking:
    """One scenario's requests and interventions. `done` and `exchanges` grow as they come to an end."""

    http: aiohttp.ClientSession
    evidence: Path
    around: Around
    done: list[Done] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    _running: dict[str, _Running] = field(default_factory=dict)

    async def all(self, prepared: Sequence[Prepared], interventions: Sequence[Intervention]) -> None:
        """One request after the other, except those that go together with the one before."""
        try:
            for index, each in enumerate(prepared):
                await self._intervene(interventions, index)
                if not each.spec.together:
                    await self._settled()
                self._send(each)
            await self._intervene(interventions, len(prepared))
            await self._settled()
        finally:
            await self._end()

    def _send(self, each: Prepared) -> None:
        sent = sent_for(each)
        _keep(self.evidence, each.spec, sent)
        leaving, begun = asyncio.Event(), asyncio.Event()

        async def reply() -> Reply:
            begun.set()
            return await exchange(self.http, self.around.url(), sent, each.spec.deadline_s, leaving)

        task = asyncio.create_task(reply())
        self._running[each.spec.name] = _Running(task, leaving, begun)
        where = f"client.jsonl:{len(self._running)}"
        task.add_done_callback(lambda ended: self._took(each, ended, where))

    def _took(self, each: Prepared, ended: asyncio.Task[Reply], where: str) -> None:
        if ended.cancelled() or ended.exception() is not None:
            return
        spec = each.spec
        self.exchanges.append(
            Exchange(spec.name, spec.max_tokens, each.prompt_tokens, ended.result(), each.plain, where)
        )

    async def _settled(self) -> None:
        for running in self._running.values():
            await running.task

    async def _end(self) -> None:
        """Whatever is still asked is given up; the rest is put into the order in which it was asked."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        order = list(self._running)
        self.exchanges.sort(key=lambda each: order.index(each.name))

    async def _intervene(self, interventions: Sequence[Intervention], index: int) -> None:
        for each in interventions:
            if each.before == index:
                began = time.monotonic_ns()
                missed = await self._do(each)
                kind, to = _told(each)
                t_ns = time.monotonic_ns() if isinstance(each.act, Until) else began
                self.done.append(Done(each.name, kind, to, t_ns, missed))

    async def _do(self, each: Intervention) -> str:
        """Why it did not come about; empty where it did."""
        match each.act:
            case Until():
                return await self._until(each.act)
            case Leave(name):
                await self._leave(name)
            case Send():
                await self.around.send(each.who, each.act)
            case Start():
                await self.around.start(each.who, each.act)
            case Hold(point, at, path):
                when = {} if path is None else {"path": path}
                await self._control(each.who, "/hold", {"point": point, "at": at, "when": when})
            case Release(point):
                await self._control(each.who, "/release", {"point": point})
            case SetFaults(faults):
                await self._control(each.who, "/faults", {"clear": True, "set": list(faults)})
        return ""

    async def _until(self, act: Until) -> str:
        told = ""

        async def holds() -> bool | None:
            nonlocal told
            result = evaluate(act.check, await self.around.look(act, tuple(self.exchanges), tuple(self.done)))
            told = result.detail
            return True if result.status is Status.OK else None

        try:
            await until(act.deadline_s, "a check to be ok", holds)
        except DeadlineMissed:
            return f"not within {act.deadline_s:g} s: {told}"
        return ""

    async def _leave(self, name: str) -> None:
        running = self._running[name]
        await running.begun.wait()
        running.leaving.set()
        running.task.cancel()
        await asyncio.wait({running.task}, timeout=_LEFT_S)

    async def _control(self, who: str, path: str, body: dict[str, Any]) -> None:
        await tell(self.around.control(who), path, body)


@dataclass(frozen=True, slots=True)
class _Running:
    task: asyncio.Task[Reply]
    leaving: asyncio.Event
    begun: asyncio.Event
    """A task that is cancelled before it begins is cancelled and has no reply."""


def sent_for(each: Prepared) -> Sent:
    """What goes out for a request."""
    spec = each.spec
    if spec.call is None:
        return Sent(spec.endpoint, request_body(spec, each.prompt, each.before), headers=spec.headers)
    body = spec.call.text.encode() if spec.call.text is not None else spec.call.json
    return Sent(spec.call.path, body, spec.call.method, spec.headers)


def _keep(evidence: Path, spec: RequestSpec, sent: Sent) -> None:
    body = sent.body.decode(errors="replace") if isinstance(sent.body, bytes) else sent.body
    told = {"endpoint": sent.path, "body": body}
    (evidence / f"request-{spec.name}.json").write_text(json.dumps(told, indent=1) + "\n")


def _told(each: Intervention) -> tuple[str, str]:
    """The act as a word, and to whom."""
    match each.act:
        case Until():
            return "until", each.name
        case Leave(name):
            return "leave", name
        case Send(number):
            return f"signal {number.name.removeprefix('SIG')}", each.who
        case Hold(point):
            return "hold", point
        case Release(point):
            return "release", point
        case Start():
            return "start", each.who
        case SetFaults():
            return "faults", each.who


async def tell(socket: Path, path: str, body: dict[str, Any]) -> Any:
    """One call to a fake's control endpoint. HarnessError: it is not there, or does not take it."""
    try:
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket))) as http,
            asyncio.timeout(_CONTROL_S),
            http.post(f"http://fake{path}", json=body) as response,
        ):
            answer = await response.json()
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise HarnessError(f"{socket.name} cannot be told {path} {body}: {error}") from None
    if response.status != 200:
        raise HarnessError(f"{path} {body}: {answer['error']['message']}")
    return answer
