"""Routers and fakes for gates that need more than a scenario says: raw sockets, signals at chosen moments.

Everything is started below the session's guardian; `Stage.end` ends it and says what was left.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from gates.commands import ROOT, ROUTER
from gates.load.evidence import read_metrics
from gates.load.fleet import free_port
from harness.clients import ask
from harness.deadline import until
from harness.left_behind import end_strays
from harness.plan import Folders, base_env
from harness.processes import Process
from harness.record import Exit, Reply
from harness.session import Session

READY_S = 30.0
EVENT_S = 10.0
LISTENING = re.compile(r"listening on (?P<url>https?://\S+)")
SERVING = re.compile(r"kvgate-router: listening on (?P<url>https?://[^\s\"]+)")
BOUND = re.compile(r"kvgate-router: bound to (?P<url>https?://[^\s\"]+?),")
GAUGES = {
    "kvgate_requests_in_flight": 0.0,
    "kvgate_queue_length": 0.0,
    "kvgate_slots_leased": 0.0,
    "kvgate_slots_doubtful": 0.0,
}
PROVIDER = shlex.join([sys.executable, "-m", "fakes.provider"])


@dataclass(slots=True)
class Fake:
    """A fake decoder that runs, and its control socket."""

    process: Process
    url: str
    control: Path
    flags: tuple[str, ...]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def tell(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One call of its control endpoint."""
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(self.control))) as http,
            http.request("GET" if body is None else "POST", f"http://fake{path}", json=body) as answer,
        ):
            told: dict[str, Any] = await answer.json()
            assert answer.status == 200, told
            return told

    async def hold(self, point: str, **when: Any) -> None:
        """Whoever reaches `point` is held there."""
        await self.tell("/hold", {"point": point, **when})

    async def is_held(self, point: str) -> None:
        """Returns when somebody is."""

        async def held() -> bool | None:
            return True if (await self.tell("/state"))["held"].get(point) else None

        await until(EVENT_S, f"somebody to be held at {point}", held, self.process.output.tail)

    async def release(self, point: str) -> None:
        await self.tell("/release", {"point": point})

    async def completions(self) -> list[dict[str, Any]]:
        """The journal's entries of completions, but for a router's look at what state the decoder saves."""
        entries = [each for each in (await self.tell("/journal"))["entries"] if each["event"] == "completion"]
        return [each for each in entries if each["endpoint"] != "/completion" or each["n_prompt"] > 4]


@dataclass(slots=True)
class Router:
    """A router that runs."""

    process: Process
    url: str
    stage: Stage

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def log(self) -> str:
        return self.process.output.path.read_text()

    async def ask(self, body: Mapping[str, Any], path: str = "/v1/completions", deadline_s: float = 10.0) -> Reply:
        """One request on a connection of its own."""
        async with aiohttp.ClientSession() as http:
            return await ask(http, self.url + path, body, deadline_s)

    async def get(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as http, http.get(self.url + path) as answer:
            return answer.status, await answer.text()

    async def metrics(self) -> dict[str, float]:
        return read_metrics((await self.get("/metrics"))[1])

    async def shows(self, wanted: Mapping[str, float], seconds: float = EVENT_S) -> None:
        """Returns when these series have these values."""
        found: dict[str, float] = {}

        async def shown() -> bool | None:
            found.update(await self.metrics())
            return True if all(found.get(name, 0.0) == value for name, value in wanted.items()) else None

        def tail() -> str:
            seen = {name: found.get(name) for name in wanted}
            return f"seen: {seen}\n{self.process.output.tail()}"

        await until(seconds, f"the router to show {dict(wanted)}", shown, tail)

    async def says(self, text: str, times: int = 1, seconds: float = EVENT_S) -> None:
        """Returns when its log has `text`."""

        async def said() -> bool | None:
            return True if self.log.count(text) >= times else None

        await until(seconds, f"the router to say {text!r}", said, self.process.output.tail)


@dataclass(slots=True)
class Stage:
    """One gate's processes and folders."""

    session: Session
    evidence: Path
    folders: Folders = field(init=False)
    _running: list[Process] = field(default_factory=list)
    _named: int = 0

    def __post_init__(self) -> None:
        self.folders = Folders(self.evidence, self.session.next_scratch())
        for folder in (self.folders.scratch, self.folders.tmp, self.folders.slots, self.folders.cwd):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def fake(self, *flags: str, slots: int = 1, again: Fake | None = None, actions: bool = True) -> Fake:
        """A fake decoder of `slots` slots, with slot actions; with `again` behind the address of one that has ended."""
        name = self._name("decoder")
        control, pipe = self.folders.scratch / f"{name}.sock", self.folders.scratch / f"{name}.out"
        port = str(free_port() if again is None else again.port)
        if again is not None:
            flags = again.flags
        else:
            flags = ("-m", "toy", "-np", str(slots), "-c", str(slots * 2048), "--cache-ram", "0", *flags)
            flags += ("--slot-save-path", str(self.folders.slots)) if actions else ()
        warm = await self.session.warm()
        process = await warm.start(
            "decoder", name, ["--port", port, "--control", str(control), *flags],
            env=base_env("fake", self.folders), cwd=self.folders.cwd, log=self.evidence / f"{name}.log",
            ready=LISTENING, pipe=pipe,
        )  # fmt: skip
        self._running.append(process)
        return Fake(process, (await process.ready(READY_S))["url"], control, flags)

    async def router(self, *flags: str, env: Mapping[str, str] | None = None, bound: bool = False) -> Router:
        """Our router, ready to serve; with `bound` as soon as it listens."""
        name = self._name("router")
        environment = {**base_env("build", self.folders), "PYTHONPATH": str(ROOT), **(env or {})}
        process = await self.session.guardian.start(
            name, [ROUTER, "serve", "--port", "0", *flags], env=environment, cwd=self.folders.cwd,
            log=self.evidence / f"{name}.log", ready=BOUND if bound else SERVING,
        )  # fmt: skip
        self._running.append(process)
        return Router(process, (await process.ready(READY_S))["url"], self)

    def handing_over(self, *more: str) -> tuple[str, ...]:
        """A router's flags for the fake provider and the state-file route."""
        return ("--provider", PROVIDER, "--slot-save-path", str(self.folders.slots), *more)

    async def wedging(self, *words: str) -> Fake:
        """The peer whose work can be stopped; it has no control socket."""
        name = self._name("wedging")
        process = await self.session.guardian.start(
            name, [sys.executable, "-m", "gates.peers.wedging_decoder", *words], cwd=self.folders.cwd, ready=LISTENING,
            env={**base_env("fake", self.folders), "PYTHONPATH": str(ROOT)}, log=self.evidence / f"{name}.log",
        )  # fmt: skip
        self._running.append(process)
        return Fake(process, (await process.ready(READY_S))["url"], self.folders.scratch, words)

    def adopt(self, process: Process) -> None:
        """A process that somebody else started ends with the others."""
        self._running.append(process)

    async def below(self, text: str) -> list[int]:
        """The processes of this session whose command starts with `text`."""
        return [each["pid"] for each in await self.session.guardian.processes() if each["command"].startswith(text)]

    async def a_process(self, text: str) -> int:
        """The one process whose command starts with `text`, as soon as there is one."""

        async def one() -> int | None:
            found = await self.below(text)
            return found[0] if len(found) == 1 else None

        return await until(EVENT_S, f"one {text!r} to run", one)

    async def no_process(self, text: str) -> None:
        """Returns when no process has a command that starts with `text`."""

        async def none() -> bool | None:
            return None if await self.below(text) else True

        await until(EVENT_S, f"every {text!r} to have ended", none)

    async def kill(self, process: Process) -> None:
        """SIGKILL; returns when it is gone."""
        process.send(signal.SIGKILL)
        await process.end()
        await process.read_to_end()

    async def stop(self, process: Process) -> None:
        """Asks it to end, and sees it gone."""
        await process.end()
        await process.read_to_end()

    async def end(self) -> list[str]:
        """Ends everything; what was left behind by whoever is gone."""
        exits: list[tuple[Process, Exit]] = []
        for process in reversed(self._running):
            exits.append((process, await process.end()))
            await process.read_to_end()
            process.output.close()
        strays = await end_strays(self.session.guardian, self.session.own_pids)
        left = [f"the file {path.name}" for place in (self.folders.tmp, self.folders.slots) for path in place.iterdir()]
        unasked = [f"{process.name} was killed at the end" for process, how in exits if how.asked and how.killed]
        return [*strays.build, *strays.own, *left, *unasked]

    def _name(self, what: str) -> str:
        self._named += 1
        return f"{what}{self._named}"


def tokens(seed: int, count: int = 40) -> list[int]:
    """A prompt of its own for each seed, as tokens."""
    return [300 + (seed * 131 + n * 7) % 1500 for n in range(count)]


def body(seed: int, count: int = 40, max_tokens: int = 12, **more: Any) -> dict[str, Any]:
    """A greedy completion request for `tokens`."""
    return {"prompt": tokens(seed, count), "max_tokens": max_tokens, "temperature": 0, **more}


def line_of(log: str, reply: Reply) -> dict[str, Any]:
    """The ending line of a reply's request, from a JSON log."""
    for line in log.splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("request_id") == reply.headers.get("x-request-id") and "outcome" in entry:
            return dict(entry)
    raise AssertionError(f"no line of {reply.headers.get('x-request-id')}")
