"""Does the steps of a scenario on a decoder, and writes down what came of each. It judges nothing."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Container, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from harness.deadline import within
from harness.errors import HarnessError
from harness.http_session import got
from harness.prompts import words
from harness.record import Pages, StepRecord
from harness.steps.damage import damage
from harness.steps.engine_act import EngineActor, EngineAt
from harness.steps.engine_spec import Decode, Get, Meta, On, Prefill, Put
from harness.steps.prompt_parts import EarlierPart, FreshPart, Part
from harness.steps.spec import Call, Complete, Damage, Restart, SlotAction, Step
from wire.errors import WireError
from wire.sse import SseDecoder, SseEvent

REPLY_BYTES = 16 << 20
_TOKENIZE_S = 30.0

Restarter = Callable[[Restart], Awaitable[str]]
"""Ends the decoder, starts it afresh, and says where it listens."""


@dataclass(slots=True)
class Actor:
    """Does steps. `done` holds what came of them so far, by name.

    `metered` are the steps around which the server's /metrics are read.
    """

    http: aiohttp.ClientSession
    url: str
    slots: Path
    rng: Random
    restart: Restarter
    engines: Mapping[On, EngineAt] = field(default_factory=dict)
    metered: Container[str] = ()
    done: dict[str, StepRecord] = field(default_factory=dict)
    _running: dict[str, _Running] = field(default_factory=dict)
    _engine: EngineActor = field(init=False)

    def __post_init__(self) -> None:
        self._engine = EngineActor(self.http, self._tokenized_at)

    async def all(self, steps: Sequence[Step]) -> None:
        """Every step in order. Requests that failed are part of the record; what cannot be done at all raises."""
        try:
            for step in steps:
                if step.once:
                    await self._begun(step)
                else:
                    await self._settled()
                await self._start(step)
            await self._settled()
        finally:
            for running in self._running.values():
                running.task.cancel()

    async def _begun(self, step: Step) -> None:
        """The step that it waits for has given its first token, or has ended without one."""
        other = self._running.get(step.once)
        if other is not None:
            awaited = f"the first token of step {step.once}"
            await within(step.deadline_s, awaited, other.begun.wait())

    async def _settled(self) -> None:
        for name, running in list(self._running.items()):
            self.done[name] = await running.task
            del self._running[name]

    async def _start(self, step: Step) -> None:
        match step.act:
            case Restart():
                self.url = await self.restart(step.act)
            case Damage():
                damage(self.slots / step.act.file, step.act)
            case Complete() | SlotAction() | Call():
                method, path, body, prompt = await self._request(step)
                begun = asyncio.Event()
                self._run(step, self._ask(step, method, path, body, prompt, begun), begun)
            case Prefill() | Get() | Put() | Meta() | Decode():
                prompt = await self._prompt(step.act)
                self._run(step, self._engine.do(step, step.act, self.engines[step.on], prompt), asyncio.Event())

    def _run(self, step: Step, doing: Coroutine[Any, Any, StepRecord], begun: asyncio.Event) -> None:
        work = self._metered(step, doing) if step.name in self.metered else doing
        self._running[step.name] = _Running(asyncio.create_task(work), begun)

    async def _metered(self, step: Step, doing: Coroutine[Any, Any, StepRecord]) -> StepRecord:
        url = self._url_of(step)
        before = await got(self.http, f"{url}/metrics")
        done = await doing
        after = await got(self.http, f"{url}/metrics")
        failed = next((page.failure for page in (before, after) if page.failure), "")
        return replace(done, metrics=Pages(before.text, after.text, failed))

    async def _request(self, step: Step) -> tuple[str, str, bytes | None, tuple[int, ...]]:
        """Method, path, body and, for a completion, the prompt's ids."""
        match step.act:
            case Call(method, path, body, text):
                if text is not None:
                    return method, path, text.encode(), ()
                return method, path, None if body is None else json.dumps(body).encode(), ()
            case SlotAction(action, file):
                asked = {"filename": file} if file else {}
                return "POST", f"/slots/{step.slot}?action={action}", json.dumps(asked).encode(), ()
            case Complete():
                prompt = await self._prompt(step.act)
                return "POST", "/completion", json.dumps(_body(step.act, step.slot, prompt)).encode(), prompt
        raise AssertionError(f"step {step.name} sends no request")

    async def _prompt(self, act: object) -> tuple[int, ...]:
        """The ids of the act's prompt, where it has one."""
        parts: Sequence[Part] = getattr(act, "prompt", ())
        return tuple([token for part in parts for token in await self._ids(part)])

    async def _ids(self, part: Part) -> Sequence[int]:
        match part:
            case FreshPart(tokens):
                return (await self._tokenized(words(tokens, self.rng)))[:tokens]
            case EarlierPart(name, reply, first, drop):
                earlier = self._finished(name)
                ids = earlier.ids if reply else earlier.prompt
                if first is not None and first > len(ids):
                    raise HarnessError(f"step {name} has {len(ids)} ids there, {first} were asked for")
                return ids[: len(ids) - drop if first is None else first]

    def _finished(self, name: str) -> StepRecord:
        """What came of a step whose ids are needed: it has to have ended well."""
        if name not in self.done:
            raise HarnessError(f"step {name} is still running, so nothing can be made of it")
        earlier = self.done[name]
        if earlier.status != 200 or earlier.failure:
            raise HarnessError(f"step {name}, which another step builds on, failed: {earlier.failure or earlier.body}")
        return earlier

    async def _tokenized(self, text: str) -> tuple[int, ...]:
        return await self._tokenized_at(self.url, text)

    async def _tokenized_at(self, url: str, text: str) -> tuple[int, ...]:
        try:
            async with asyncio.timeout(_TOKENIZE_S), self.http.post(f"{url}/tokenize", json={"content": text}) as asked:
                if asked.status != 200:
                    raise HarnessError(f"{url}/tokenize answered {asked.status}")
                return tuple(int(token) for token in (await asked.json())["tokens"])
        except TimeoutError:
            raise HarnessError(f"{url}/tokenize gave no whole answer within {_TOKENIZE_S:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise HarnessError(f"{url}/tokenize: the connection failed: {type(error).__name__}: {error}") from None
        except (ValueError, KeyError, TypeError):
            raise HarnessError(f"{url}/tokenize answered with no list of tokens") from None

    def _url_of(self, step: Step) -> str:
        return self.engines[step.on].url if step.on is On.PEER else self.url

    async def _ask(
        self, step: Step, method: str, path: str, body: bytes | None, prompt: tuple[int, ...], begun: asyncio.Event
    ) -> StepRecord:
        reading = _Reading(begun)
        try:
            async with (
                asyncio.timeout(step.deadline_s),
                self.http.request(method, self._url_of(step) + path, data=body, headers=_JSON) as response,
            ):
                await reading.take(response)
        except TimeoutError:
            reading.failure = f"no whole reply within {step.deadline_s:g} s"
        except (aiohttp.ClientError, OSError) as error:
            reading.failure = f"the connection failed: {type(error).__name__}: {error}"
        except WireError as error:
            reading.failure = f"the reply's framing is broken: {error}"
        finally:
            begun.set()
        return reading.record(step.name, prompt)


_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class _Running:
    task: asyncio.Task[StepRecord]
    begun: asyncio.Event


def _body(act: Complete, slot: int | None, prompt: Sequence[int]) -> dict[str, Any]:
    """Greedy, with ids and the two best of each position, so that replies can be compared and margins read."""
    asked = {"prompt": list(prompt), "n_predict": act.n_predict, "temperature": 0, "stream": act.stream}
    if slot is not None:
        asked["id_slot"] = slot
    return asked | {"cache_prompt": True, "return_tokens": True, "n_probs": 2} | dict(act.body)


@dataclass(slots=True)
class _Reading:
    """A reply as it comes in."""

    begun: asyncio.Event
    sent_ns: int = field(default_factory=time.monotonic_ns)
    first_ns: int | None = None
    end_ns: int | None = None
    status: int | None = None
    failure: str = ""
    raw: bytearray = field(default_factory=bytearray)
    frames: list[Any] = field(default_factory=list)

    async def take(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        events = SseDecoder() if response.content_type == "text/event-stream" else None
        async for chunk in response.content.iter_any():
            if events is None:
                self.raw += chunk
            else:
                self._frames(events.receive(chunk))
            if len(self.raw) > REPLY_BYTES:
                self.failure = f"the reply is larger than {REPLY_BYTES >> 20} MiB"
                return
        self.end_ns = time.monotonic_ns()

    def _frames(self, events: Sequence[object]) -> None:
        for event in events:
            if isinstance(event, SseEvent):
                self.frames.append(json.loads(event.data))
                self.first_ns = self.first_ns or time.monotonic_ns()
                self.begun.set()

    def record(self, name: str, prompt: tuple[int, ...]) -> StepRecord:
        body = self.frames[-1] if self.frames else _parsed(bytes(self.raw))
        told = body if isinstance(body, Mapping) else {}
        ids = [token for frame in self.frames[:-1] for token in frame.get("tokens", ())] or told.get("tokens", ())
        probabilities = [p for frame in self.frames for p in frame.get("completion_probabilities") or ()]
        return StepRecord(
            name=name,
            sent_ns=self.sent_ns,
            first_ns=self.first_ns,
            end_ns=self.end_ns,
            status=self.status,
            failure=self.failure,
            body=body,
            prompt=prompt,
            ids=tuple(ids),
            margins=tuple(_margin(each) for each in probabilities or told.get("completion_probabilities") or ()),
        )


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")


def _margin(entry: Mapping[str, Any]) -> float | None:
    tops = sorted((float(top["logprob"]) for top in entry.get("top_logprobs") or ()), reverse=True)
    return tops[0] - tops[1] if len(tops) > 1 else None
