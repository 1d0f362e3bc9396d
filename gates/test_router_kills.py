"""Whoever is killed with SIGKILL, in whatever phase of a request: the next one is right, and nothing is left."""

import asyncio
import sys
from contextlib import suppress

import aiohttp
import pytest

from gates.running import GAUGES, body
from harness.clients import ask
from harness.record import Reply

DEADLINE_S = 8.0
FIRST, NEXT = 1, 2

POINTS = {
    "tokenizing": ("decoder.request", {"when": {"op": "tokenize"}}),
    "share": ("decoder.share-asked", {}),
    "adopt": ("decoder.adopt-asked", {}),
    "restore": ("decoder.restore-asked", {}),
    "before the first byte": ("decoder.started", {}),
    "mid-stream": ("decoder.token", {"at": 3}),
}
PHASES = ("queued", "tokenizing", "share", "provider", "adopt", "restore", "before the first byte", "mid-stream")


class Play:
    """One request brought into a phase and kept there."""

    def __init__(self, stage, phase):
        self.stage, self.phase = stage, phase
        self.body = body(FIRST, prompt="a b c d e f g h i j k l m n o p q r s t u v w x y z", stream=True)
        self.others = []

    async def open(self):
        self.decoder = await self.stage.fake()
        self.router = await self.start_router()
        if self.phase == "provider":
            self.reply = asyncio.create_task(self.router.ask(self.body, deadline_s=DEADLINE_S))
            await self.router.says("provider: hangs")
            return
        point, when = POINTS.get(self.phase, POINTS["before the first byte"])
        await self.decoder.hold(point, **when)
        self.reply = asyncio.create_task(self.router.ask(self.body, deadline_s=DEADLINE_S))
        await self.decoder.is_held(point)
        if self.phase == "queued":
            self.others = [self.reply]
            self.reply = asyncio.create_task(self.router.ask(body(3), deadline_s=DEADLINE_S))
            await self.router.shows({"kvgate_queue_length": 1.0})

    async def start_router(self):
        share = "--no-kv-share" if self.phase == "restore" else "--kv-share"
        hanging = "sh -c 'echo hangs >&2; sleep 600'" if self.phase == "provider" else None
        words = ("--provider", hanging, "--slot-save-path", str(self.stage.folders.slots)) if hanging else ()
        return await self.stage.router(
            "--decoder", self.decoder.url, share, "--log-format", "json", *(words or self.stage.handing_over())
        )

    async def ended(self) -> Reply:
        """What the client saw of the request that was in the phase."""
        replies = await asyncio.gather(self.reply, *self.others)
        return replies[0]

    async def next_is_right(self, router):
        """As on a decoder alone."""
        alone = await self.stage.fake()
        # A client's own `cache_prompt: false` is not handed over: this provider would hang again.
        asked = body(NEXT, cache_prompt=False) if self.phase == "provider" else body(NEXT)
        reply = await router.ask(asked, deadline_s=DEADLINE_S)
        plain = await _asked(alone, body(NEXT))
        assert (reply.status, reply.error, reply.failure) == (200, "", "")
        assert reply.text == plain.text != ""
        await router.shows(GAUGES)
        assert [path.name for path in self.stage.folders.slots.iterdir() if path.suffix != ".lock"] == []


async def _asked(fake, asked):
    async with aiohttp.ClientSession() as http:
        return await ask(http, fake.url + "/v1/completions", asked, DEADLINE_S)


@pytest.mark.parametrize("phase", PHASES)
def test_the_decoder_is_killed(session, stage, phase):
    async def killed():
        play = Play(stage, phase)
        await play.open()
        await stage.kill(play.decoder.process)
        if phase == "provider":
            for pid in await stage.below("sh -c echo hangs"):
                await session.guardian.kill([pid])
        reply = await play.ended()
        assert reply.status in ((200,) if phase == "mid-stream" else (502, 503)), reply
        assert reply.error, reply
        assert (reply.text != "") == (phase == "mid-stream")
        await stage.fake(again=play.decoder)
        await play.router.shows({f'kvgate_decoder_ready{{decoder="{play.decoder.url}"}}': 1.0})
        await play.next_is_right(play.router)
        await stage.no_process("sleep 600")

    session.run(killed())


@pytest.mark.parametrize("phase", PHASES)
def test_the_router_is_killed(session, stage, phase):
    async def killed():
        play = Play(stage, phase)
        await play.open()
        await stage.kill(play.router.process)
        assert (await play.ended()).failure
        await stage.no_process("sleep 600")
        await stage.no_process(f"{sys.executable} -m fakes.provider")
        with suppress(KeyError):
            await play.decoder.release(POINTS.get(phase, POINTS["before the first byte"])[0])
        router = await play.start_router()
        await play.next_is_right(router)
        assert sorted(path.suffix for path in stage.folders.slots.iterdir()) == [".lock"]

    session.run(killed())


@pytest.mark.parametrize("route", ["share", "restore"])
def test_the_provider_is_killed(session, stage, route):
    async def killed():
        decoder = await stage.fake()
        share = "--kv-share" if route == "share" else "--no-kv-share"
        router = await stage.router(
            "--decoder", decoder.url, share, "--provider", "sh -c 'echo hangs >&2; sleep 600 & wait'",
            "--slot-save-path", str(stage.folders.slots),
        )  # fmt: skip
        asking = asyncio.create_task(router.ask(body(FIRST), deadline_s=DEADLINE_S))
        await router.says("provider: hangs")
        await session.guardian.kill([await stage.a_process("sh -c echo hangs")])
        reply = await asking
        alone = await stage.fake()
        assert reply.status == 200
        assert reply.text == (await _asked(alone, body(FIRST))).text != ""
        await router.says("provider was killed by SIGKILL; the backend prefills this request itself")
        await stage.no_process("sleep 600")
        await router.shows(GAUGES)

    session.run(killed())
