"""Doing steps, against a decoder of a few lines: what is sent, in which order, and what is written down."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Container
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from harness.errors import HarnessError
from harness.record import Pages, StepRecord
from harness.steps.act import Actor
from harness.steps.prompt_parts import EarlierPart, FreshPart
from harness.steps.spec import Action, Call, Complete, Damage, Restart, SlotAction, Step


class Decoder:
    """Answers completions with ids 7, 8, 9, streamed ones one by one; `hold` keeps a stream from ending."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.metrics_status = 200
        self.hold = asyncio.Event()
        self.hold.set()

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/tokenize", self.tokenize)
        app.router.add_post("/completion", self.complete)
        app.router.add_post("/slots/{id}", self.slot)
        app.router.add_get("/slots", self.listing)
        app.router.add_get("/metrics", self.metrics)
        return app

    async def tokenize(self, request: web.Request) -> web.Response:
        content = (await request.json())["content"]
        return web.json_response({"tokens": [100 + len(word) for word in content.split()]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(("completion", body))
        top = [{"logprob": -0.25}, {"logprob": -1.0}]
        told = {"timings": {"cache_n": 0}, "completion_probabilities": [{"top_logprobs": top}] * 3}
        if not body["stream"]:
            return web.json_response({"tokens": [7, 8, 9], **told})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for token in (7, 8, 9):
            await response.write(f"data: {json.dumps({'tokens': [token], 'stop': False})}\n\n".encode())
            await self.hold.wait()
        await response.write(f"data: {json.dumps({'tokens': [], 'stop': True, 'timings': {}})}\n\n".encode())
        return response

    async def slot(self, request: web.Request) -> web.Response:
        self.asked.append((f"slot {request.match_info['id']} {request.query.get('action')}", await request.text()))
        self.hold.set()
        return web.json_response({"n_saved": 3})

    async def listing(self, request: web.Request) -> web.Response:
        self.asked.append(("slots", None))
        return web.Response(text="no JSON", status=501)

    async def metrics(self, request: web.Request) -> web.Response:
        completions = sum(name == "completion" for name, _ in self.asked)
        return web.Response(text=f"n {completions}\n", status=self.metrics_status)


async def _done(
    steps: list[Step],
    folder: Path,
    decoder: Decoder,
    restart: Callable[[str], Awaitable[str]] | None,
    metered: Container[str] = (),
) -> dict[str, StepRecord]:
    runner = web.AppRunner(decoder.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with aiohttp.ClientSession() as http:
            again = restart or (lambda _url: asyncio.sleep(0, url))  # noqa: TID251 - yields, and waits for nothing
            actor = Actor(http, url, folder, Random(1), lambda _how: again(url), metered=metered)
            await actor.all(steps)
            return actor.done
    finally:
        await runner.cleanup()


def done(steps: list[Step], folder: Path, *, decoder: Decoder | None = None, hold: bool = False) -> Any:
    """What came of the steps, and what the decoder was asked."""

    async def go() -> Any:
        asked = decoder or Decoder()
        if hold:
            asked.hold.clear()
        return await _done(steps, folder, asked, None), asked.asked

    return asyncio.run(go())


COLD = Step("cold", Complete((FreshPart(5),), n_predict=3), slot=0)


def test_a_completion_is_greedy_pinned_and_by_ids(tmp_path: Path) -> None:
    records, asked = done([COLD], tmp_path)
    (_, body) = asked[0]
    assert (body["temperature"], body["id_slot"], body["n_predict"], body["stream"]) == (0, 0, 3, False)
    assert len(body["prompt"]) == 5
    assert records["cold"].prompt == tuple(body["prompt"])
    assert records["cold"].ids == (7, 8, 9)
    assert records["cold"].margins == (0.75, 0.75, 0.75)


def test_a_prompt_is_put_together_from_earlier_ids(tmp_path: Path) -> None:
    parts = (EarlierPart("cold", False, drop=1), EarlierPart("cold", True, first=2), EarlierPart("cold", True))
    records, _ = done([COLD, Step("next", Complete(parts))], tmp_path)
    assert records["next"].prompt == (*records["cold"].prompt[:4], 7, 8, 7, 8, 9)


def test_no_slot_is_named_where_the_choice_is_the_decoders(tmp_path: Path) -> None:
    _, asked = done([Step("free", Complete((FreshPart(2),)))], tmp_path)
    assert "id_slot" not in asked[0][1]


def test_an_action_names_slot_and_file(tmp_path: Path) -> None:
    steps = [Step("s", SlotAction(Action.SAVE, "f.bin"), 1), Step("e", SlotAction(Action.ERASE), 0)]
    records, asked = done(steps, tmp_path)
    assert asked == [("slot 1 save", '{"filename": "f.bin"}'), ("slot 0 erase", "{}")]
    assert records["s"].body == {"n_saved": 3}


def test_a_body_that_is_no_json_is_kept_as_text(tmp_path: Path) -> None:
    records, _ = done([Step("c", Call("GET", "/slots"))], tmp_path)
    assert (records["c"].status, records["c"].body) == (501, "no JSON")


def test_once_sends_while_the_other_still_runs(tmp_path: Path) -> None:
    """The stream ends only when the save has been asked for, so this would miss its deadline if it waited."""
    long = Step("long", Complete((FreshPart(2),), stream=True), 0, deadline_s=5.0)
    beside = Step("beside", SlotAction(Action.SAVE, "f.bin"), 1, once="long", deadline_s=5.0)
    records, asked = done([long, beside], tmp_path, hold=True)
    assert [what for what, _ in asked] == ["completion", "slot 1 save"]
    assert records["long"].ids == (7, 8, 9)
    assert records["long"].first_ns < records["beside"].sent_ns


def test_a_step_waits_for_those_before_it(tmp_path: Path) -> None:
    long = Step("long", Complete((FreshPart(2),), stream=True), 0, deadline_s=0.3)
    records, _ = done([long, Step("after", SlotAction(Action.SAVE, "f.bin"), 1)], tmp_path, hold=True)
    assert records["long"].failure == "no whole reply within 0.3 s"
    assert records["after"].status == 200


def test_a_refused_connection_is_written_down(tmp_path: Path) -> None:
    async def elsewhere(_url: str) -> str:
        return "http://127.0.0.1:9"

    records = asyncio.run(
        _done([Step("r", Restart()), Step("c", Call("GET", "/slots"))], tmp_path, Decoder(), elsewhere)
    )
    assert records["c"].status is None
    assert "the connection failed" in records["c"].failure


def test_nothing_is_built_on_a_step_that_failed(tmp_path: Path) -> None:
    failed = Step("cold", Complete((FreshPart(2),), stream=True), 0, deadline_s=0.2)
    with pytest.raises(HarnessError, match="step cold, which another step builds on, failed: no whole reply"):
        done([failed, Step("next", Complete((EarlierPart("cold", False),)))], tmp_path, hold=True)


@pytest.mark.parametrize(
    ("how", "after"),
    [
        (Damage("f", keep_bytes=3), b"abc"),
        (Damage("f", flip_bytes=2), b"abcdef\x98\x97ij"),
        (Damage("f", write="new"), b"new"),
        (Damage("f", write_u32={4: 0x01020304}), b"abcd\x04\x03\x02\x01ij"),
    ],
)
def test_a_file_is_damaged_as_asked(tmp_path: Path, how: Damage, after: bytes) -> None:
    (tmp_path / "f").write_bytes(b"abcdefghij")
    done([Step("d", how)], tmp_path)
    assert (tmp_path / "f").read_bytes() == after


def test_what_cannot_be_damaged_is_said(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="f cannot be damaged: No such file"):
        done([Step("d", Damage("f", keep_bytes=1))], tmp_path)
    (tmp_path / "f").write_bytes(b"a")
    with pytest.raises(HarnessError, match="has 1 bytes, too few to be damaged"):
        done([Step("d", Damage("f", keep_bytes=1))], tmp_path)


@pytest.mark.parametrize("status", [200, 501])
def test_the_metrics_are_read_around_the_steps_that_are_looked_at(tmp_path: Path, status: int) -> None:
    async def go() -> dict[str, StepRecord]:
        decoder = Decoder()
        decoder.metrics_status = status
        return await _done([COLD, replace(COLD, name="other")], tmp_path, decoder, None, {"cold"})

    records = asyncio.run(go())
    assert records["other"].metrics is None
    pages = records["cold"].metrics
    assert pages is not None
    if status == 200:
        assert pages == Pages("n 0\n", "n 1\n")
    else:
        assert pages.unread.endswith("/metrics answered 501")
