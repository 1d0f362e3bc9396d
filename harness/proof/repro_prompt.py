"""The prompt of a live replay: everything is alive, a person says what comes next.

It waits for the person's next line, and tells what comes of itself: a held point that is reached, the end of the
requests.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from harness.deadline import until, within
from harness.errors import HarnessError, Unavailable, UsageError
from harness.near import did_you_mean
from harness.run import Run

PROMPT = "(kvgate) "
HELP = """  next          let the fake decoder go on from where it is held, to its next held point or the end
  hold POINT    stop the fake decoder there too
  points        every point there is
  logs          the last lines of every process
  slots         the decoder's slots
  urls          where everything is
  quit          end everything
"""
_CONTROL_S = 10.0
_LIVE_S = 86_400.0


class Attendant:
    """What `Run.attend` wants: it holds, lets the requests go, and then does as it is told."""

    def __init__(self, hold: list[str]) -> None:
        self._hold = hold
        self.status = 0

    async def __call__(self, run: Run, asking: Coroutine[Any, Any, None]) -> None:
        control = Control(run.folders.scratch / "decoder.sock")
        try:
            for point in self._hold:
                await control.hold(point)
        except UsageError:
            asking.close()
            raise
        print("\n".join(f"{who:<9} {url}" for who, url in run.cast.urls.items()), flush=True)
        task = asyncio.create_task(asking)
        news = [asyncio.create_task(each) for each in (self._tell_the_end(task, control), _tell_who_is_held(control))]
        lines = _Lines()
        try:
            await self._attend(run, control, lines)
        finally:
            lines.close()
            for each in (task, *news):
                each.cancel()
            await asyncio.wait([task, *news])

    async def _attend(self, run: Run, control: Control, lines: _Lines) -> None:
        while True:
            print(PROMPT, end="", flush=True)
            line = await lines.next()
            if line is None or not await self._obey(run, control, line.split()):
                return

    async def _tell_the_end(self, task: asyncio.Task[None], control: Control) -> None:
        await asyncio.wait([task])
        error = None if task.cancelled() else task.exception()
        self.status = 0 if error is None else 1
        _tell("every request has been answered" if error is None else f"the requests ended: {error}")
        with suppress(HarnessError):
            if held := await control.held():
                _tell(f"nobody came to {', '.join(held)}")

    async def _obey(self, run: Run, control: Control, words: list[str]) -> bool:
        """False when everything is to end."""
        try:
            return await self._done(run, control, words)
        except HarnessError as error:
            print(error)
            return True

    async def _done(self, run: Run, control: Control, words: list[str]) -> bool:
        match words:
            case []:
                pass
            case ["quit" | "q" | "exit"]:
                return False
            case ["next" | "n"]:
                print(await control.release())
            case ["hold", point]:
                await control.hold(point)
                print(f"whoever comes to {point} is held")
            case ["points"]:
                print("\n".join(await control.points()))
            case ["logs" | "l"]:
                print(run.cast.tails())
            case ["slots" | "s"]:
                print(await _slots(run))
            case ["urls"]:
                print("\n".join(f"{who:<9} {url}" for who, url in run.cast.urls.items()))
            case _:
                print(HELP, end="")
        return True


class Control:
    """The control endpoint of the run's fake decoder."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def hold(self, point: str) -> None:
        known = await self.points()
        if point not in known:
            raise UsageError(f"no point is called {point!r}{did_you_mean(point, known)}")
        await self._call("POST", "/hold", {"point": point})

    async def points(self) -> list[str]:
        return list((await self._call("GET", "/points"))["points"])

    async def held(self) -> dict[str, int]:
        """The points that are held, and how many wait there."""
        return dict((await self._call("GET", "/state"))["held"])

    async def release(self) -> str:
        """Lets whoever waits go on; the points where nobody is yet stay held."""
        held = await self.held()
        waiting = [point for point, count in held.items() if count]
        for point in waiting:
            await self._call("POST", "/release", {"point": point})
        if waiting:
            return f"released: {', '.join(waiting)}"
        return f"nobody has come to {', '.join(held)} yet" if held else "nothing is held"

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        if not self._socket.exists():
            raise UsageError("this scenario has no fake decoder that could be held")
        try:
            return await within(_CONTROL_S, f"the fake's answer to {path}", self._asked(method, path, body))
        except aiohttp.ClientError as error:
            raise Unavailable(f"the fake decoder does not answer: {error}") from None

    async def _asked(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        connector = aiohttp.UnixConnector(str(self._socket))
        async with (
            aiohttp.ClientSession(connector=connector) as http,
            http.request(method, f"http://fake{path}", json=body) as response,
        ):
            return json.loads(await response.text())


async def _tell_who_is_held(control: Control) -> None:
    """Says it when a held point is reached, for as long as the fake decoder answers."""
    told: set[str] = set()

    async def reached() -> set[str] | None:
        waiting = {point for point, count in (await control.held()).items() if count}
        told.intersection_update(waiting)
        return waiting - told or None

    with suppress(HarnessError):
        while True:
            for point in sorted(await until(_LIVE_S, "somebody at a held point", reached)):
                told.add(point)
                _tell(f"{point} is reached, and held until you say `next`")


def _tell(news: str) -> None:
    """Something that came while the prompt stood there."""
    print(f"\n{news}\n{PROMPT}", end="", flush=True)


async def _slots(run: Run) -> str:
    if "decoder" not in run.cast.urls:
        return "there is no decoder beside the build"
    try:
        async with aiohttp.ClientSession() as http, http.get(run.cast.urls["decoder"] + "/slots") as response:
            return json.dumps(json.loads(await response.text()), indent=1)
    except (aiohttp.ClientError, ValueError) as error:
        return f"the decoder does not tell: {error}"


class _Lines:
    """What a person types, line by line, without a thread that would wait for ever."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._readable)

    async def next(self) -> str | None:
        """The next line; None at the end of the input."""
        return await self._queue.get()

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def _readable(self) -> None:
        line = sys.stdin.readline()
        self._queue.put_nowait(line if line else None)
        if not line:
            self.close()
