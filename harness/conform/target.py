"""The decoder that probes talk to, and what they often ask of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from harness.conform.clause import Broken, NotSeen, TooLate
from harness.conform.setting import Setting
from harness.conform.wire_client import Answer, Ask, Talk, get, post
from harness.deadline import until
from harness.errors import DeadlineMissed

_IDS = range(300, 1900)
"""Ids of ordinary pieces in every vocabulary there is here."""

SOON_S = 10.0
LONG_REPLY = 900


@dataclass(slots=True)
class Target:
    """A decoder that is ready. `folder` holds its slot files and `log` its log, None where it is somebody else's."""

    url: str
    setting: Setting
    folder: Path | None = None
    log: Path | None = None
    _seed: int = field(default=0)

    async def ask(self, ask: Ask) -> Answer:
        """A question on a connection of its own."""
        async with await Talk.open(self.url) as talk:
            return await talk.ask(self.dressed(ask))

    def dressed(self, ask: Ask) -> Ask:
        """The question as this decoder wants it: below its prefix, with its key."""
        return ask.under(self.setting.prefix, self.setting.headers)

    async def json(self, ask: Ask) -> Any:
        """The JSON of an answer that is 200, Broken for any other."""
        answer = await self.ask(ask)
        if answer.status != 200:
            raise Broken(f"{ask.method} {ask.path} answered {answer.status}: {answer.body[:200]!r}")
        return answer.json

    async def complete(self, prompt: Any, n_predict: int = 4, **fields: Any) -> dict[str, Any]:
        """A greedy completion that does not end by itself."""
        return dict(await self.json(post("/completion", completion(prompt, n_predict, **fields))))

    async def stream(self, path: str, body: dict[str, Any]) -> Answer:
        answer = await self.ask(post(path, {**body, "stream": True}))
        if answer.status != 200:
            raise Broken(f"POST {path} answered {answer.status}: {answer.body[:200]!r}")
        return answer

    def prompt(self, n_tokens: int) -> list[int]:
        """Ids that no prompt before began with."""
        self._seed += 1
        return Random(self._seed).choices(_IDS, k=n_tokens)

    async def slots(self) -> list[dict[str, Any]]:
        return list(await self.json(get("/slots")))

    async def slot(self, index: int) -> dict[str, Any]:
        return (await self.slots())[index]

    async def props(self) -> dict[str, Any]:
        return dict(await self.json(get("/props")))

    async def action(self, slot: object, action: str, body: Any = None) -> Answer:
        return await self.ask(post(f"/slots/{slot}?action={action}", body))

    async def emptied(self) -> None:
        """All slots hold nothing."""
        for one in await self.slots():
            await self.action(one["id"], "erase")

    @asynccontextmanager
    async def working(self, slot: int, prompt: list[int] | None = None) -> AsyncIterator[Talk]:
        """While this lasts the slot works on a long stream; its first frame is there. TooLate if it has ended."""
        body = completion(prompt or self.prompt(8), LONG_REPLY, id_slot=slot, stream=True)
        async with await Talk.open(self.url) as talk:
            await talk.send(self.dressed(post("/completion", body)).encoded())
            await talk.read_head()
            await talk.chunk()
            try:
                yield talk
            except Broken:
                await self._still_working(slot, talk)
                raise
            await self._still_working(slot, talk)
        await self.idle(slot)

    async def _still_working(self, slot: int, talk: Talk) -> None:
        if not talk.closed and await self._is_idle(slot):
            raise TooLate("the slot's long reply had ended before the end of the probe")

    async def idle(self, slot: int) -> None:
        await self.until(f"slot {slot} to be idle", lambda: self._is_idle(slot))

    async def _is_idle(self, slot: int) -> bool:
        return not (await self.slot(slot))["is_processing"]

    async def until(self, what: str, holds: Callable[[], Awaitable[object]], seconds: float = SOON_S) -> None:
        """Broken when it does not come true in time."""

        async def asked() -> bool | None:
            return True if await holds() else None

        try:
            await until(seconds, what, asked)
        except DeadlineMissed as missed:
            raise Broken(str(missed).partition("\n")[0]) from None

    def mark(self) -> int:
        """Where the log ends now, for `lines`. NotSeen without a log."""
        if self.log is None:
            raise NotSeen("the decoder was started by somebody else, and its log is not here")
        return self.log.stat().st_size

    def lines(self, mark: int) -> list[str]:
        self.mark()
        assert self.log is not None
        return self.log.read_bytes()[mark:].decode(errors="replace").splitlines()

    async def logged(self, mark: int, *patterns: str) -> list[str]:
        """The first line since `mark` for each pattern. Broken when one of them does not come."""

        async def there() -> bool:
            return all(any(re.search(each, line) for line in self.lines(mark)) for each in patterns)

        await self.until(f"lines like {' and '.join(map(repr, patterns))} in the log", there, 3.0)
        return [next(line for line in self.lines(mark) if re.search(each, line)) for each in patterns]

    def saved(self, name: str) -> Path:
        if self.folder is None:
            raise NotSeen("the folder of the decoder's slot files is not known")
        return self.folder / name


def completion(prompt: Any, n_predict: int = 4, **fields: Any) -> dict[str, Any]:
    """The body of a greedy completion of just so many tokens."""
    return {"prompt": prompt, "n_predict": n_predict, "temperature": 0, "ignore_eos": True, **fields}


def chat(text: str = "Name a river.", n_predict: int = 4, **fields: Any) -> dict[str, Any]:
    """The body of a greedy chat."""
    messages: Sequence[Any] = [{"role": "user", "content": text}]
    return {"messages": messages, "max_tokens": n_predict, "temperature": 0, "ignore_eos": True, **fields}


async def both(*waiting: Awaitable[Any]) -> list[Any]:
    """All at the same time."""
    return list(await asyncio.gather(*waiting))
