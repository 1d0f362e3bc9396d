"""The router's life: decoders that come, go, wedge and are replaced; children that crash; signals; no orphan ever."""

import asyncio
import shlex
import signal
import sys

import aiohttp
import pytest

from gates.commands import ROUTER
from gates.running import GAUGES, body
from harness.clients import ask
from harness.plan import Options, base_env, decoder_wrapper

DEADLINE_S = 10.0


def ready(url):
    return f'kvgate_decoder_ready{{decoder="{url}"}}'


async def asked(url, request):
    async with aiohttp.ClientSession() as http:
        return await ask(http, url + "/v1/completions", request, DEADLINE_S)


def test_a_wedged_decoder_is_taken_out_by_evidence_and_comes_back(session, stage):
    async def run():
        wedging = await stage.wedging()
        peer, url = wedging.process, wedging.url
        other = await stage.fake()
        router = await stage.router("--decoder", url, other.url, "--first-byte-timeout", "1", "--share-timeout", "1")
        await router.shows({ready(url): 1.0, ready(other.url): 1.0})
        assert (await router.ask(body(1, prompt="one"))).text == "from the wedging decoder"
        peer.send(signal.SIGUSR1)
        assert (await router.ask(body(1, prompt="one"))).status == 504
        async with aiohttp.ClientSession() as http, http.get(url + "/health") as answer:
            assert answer.status == 200
        await router.shows({ready(url): 0.0, ready(other.url): 1.0})
        assert (await router.get("/health"))[0] == 200
        for _ in range(3):
            assert (await router.ask(body(4, prompt="one"), deadline_s=0.9)).status == 200
        peer.send(signal.SIGUSR2)
        await router.shows({ready(url): 1.0})
        assert (await router.ask(body(5, prompt="one"))).status == 200
        await router.shows(GAUGES)

    session.run(run())


def test_another_decoder_behind_the_same_address_is_noticed(session, stage):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url, *stage.handing_over())
        first = await router.ask(body(1))
        warm = await router.ask(body(1))
        assert (first.headers["x-kvgate-route"], warm.headers["x-kvgate-route"]) == ("state-file", "plain")
        await stage.kill(decoder.process)
        again = await stage.fake(again=decoder)
        await router.says(f"decoder {decoder.url} is ready", times=2)
        cold = await router.ask(body(1))
        assert cold.headers["x-kvgate-route"] == "state-file"
        assert cold.text == first.text != ""
        (entry,) = await again.completions()
        assert entry["prompt_n"] == 1

    session.run(run())


def test_a_handoff_goes_only_where_it_fits(session, stage):
    async def run():
        without = await stage.fake(slots=2, actions=False)
        takes = await stage.fake()
        small = await stage.fake("-c", "256")
        router = await stage.router("--decoder", without.url, small.url, takes.url, *stage.handing_over())
        await router.shows({ready(each.url): 1.0 for each in (without, takes, small)})
        replies = await asyncio.gather(*(router.ask(body(n, 300)) for n in range(6)))
        assert [reply.status for reply in replies] == [200] * 6
        assert {reply.headers["x-kvgate-route"] for reply in replies} == {"state-file"}
        assert len(await takes.completions()) == 6
        assert (await router.ask(body(9, prompt="hi"))).status == 200
        await stage.kill(takes.process)
        await router.shows({ready(takes.url): 0.0})
        plain = await router.ask(body(7, 300))
        assert (plain.status, plain.headers["x-kvgate-route"]) == (200, "plain")
        assert plain.headers["x-kvgate-reason"] == "no-route"

    session.run(run())


def wrapped(stage):
    """The fake decoder where a router wants an executable `llama-server`."""
    path = stage.folders.cwd / "llama-server"
    path.write_text(decoder_wrapper(Options()))
    path.chmod(0o755)
    return str(path)


def test_a_child_that_crashes_is_started_again_with_backoff(session, stage):
    async def run():
        router = await stage.router("--llama-server", wrapped(stage), "-m", "toy", "--", "-np", "1", "-c", "2048")
        first = await router.ask(body(1))
        for times in (1, 2):
            await session.guardian.kill([await stage.a_process(f"{sys.executable} -m fakes.decoder_server")])
            await router.says("the decoder was killed by SIGKILL", times=times)
            refused = await router.ask(body(1))
            assert (refused.status, refused.headers.get("retry-after")) == (503, "1")
            assert (await router.get("/health"))[0] == 503
            await router.shows({"kvgate_decoder_restarts_total": float(times)})
            await router.says("is ready: 1 slots", times=times + 1)
        assert "it is started again in 0.5 s" in router.log
        assert "it is started again in 1 s" in router.log
        assert (await router.ask(body(1))).text == first.text != ""

    session.run(run())


@pytest.mark.parametrize(("command", "says"), [
    ("sh -c 'echo no such model >&2; exit 3'", "the decoder exited 3 before it was ready: no such model"),
    ("/nowhere/llama-server", "--llama-server: no such command: /nowhere/llama-server"),
])  # fmt: skip
def test_a_child_that_never_comes_up_ends_the_router_and_says_why(session, stage, command, says):
    async def run():
        process = await session.guardian.start(
            "router", [ROUTER, "serve", "--port", "0", "--llama-server", command, "-m", "toy"],
            env=base_env("build", stage.folders), cwd=stage.folders.cwd, log=stage.evidence / "router.log",
        )  # fmt: skip
        stage.adopt(process)
        status = await asyncio.wait_for(asyncio.shield(process.exited), DEADLINE_S)
        await process.read_to_end()
        lines = process.output.path.read_text().splitlines()
        assert says in lines[-1]
        assert "Traceback" not in process.output.path.read_text()
        assert status == (1 if "exited 3" in says else 2)

    session.run(run())


async def ended(process, seconds=DEADLINE_S):
    status = await asyncio.wait_for(asyncio.shield(process.exited), seconds)
    await process.read_to_end()
    return status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_lets_what_is_served_end_and_takes_nothing_new(session, stage, number):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url)
        await decoder.hold("decoder.token", at=3)
        async with aiohttp.ClientSession() as http:
            async with http.get(router.url + "/health") as answer:
                assert answer.status == 200
            streaming = asyncio.create_task(router.ask(body(1, stream=True)))
            await decoder.is_held("decoder.token")
            queued = asyncio.create_task(router.ask(body(2)))
            await router.shows({"kvgate_queue_length": 1.0})
            router.process.send(number)
            await router.says(f"{number.name}: draining")
            async with http.get(router.url + "/health") as answer:
                assert answer.status == 503
            late = await router.ask(body(3))
            assert "connection failed" in late.failure
            await decoder.release("decoder.token")
            assert [(each.status, each.error, each.failure) for each in (await streaming, await queued)] == [
                (200, "", "")
            ] * 2
        assert await ended(router.process) == 0

    session.run(run())


@pytest.mark.parametrize("second", [False, True], ids=["the drain's time is over", "a second signal"])
def test_what_does_not_end_is_cut_and_told_so(session, stage, second):
    async def run():
        decoder = await stage.fake(slots=2)
        router = await stage.router("--decoder", decoder.url, "--drain-timeout", "30" if second else "0.3")
        await decoder.hold("decoder.token", at=3)
        streaming = asyncio.create_task(router.ask(body(1, stream=True)))
        whole = asyncio.create_task(router.ask(body(2)))
        await decoder.is_held("decoder.token")
        await router.shows({"kvgate_slots_leased": 2.0})
        queued = asyncio.create_task(router.ask(body(3)))
        await router.shows({"kvgate_queue_length": 1.0})
        router.process.send(signal.SIGTERM)
        if second:
            await router.says("SIGTERM: draining")
            router.process.send(signal.SIGTERM)
        cut, unanswered, waiting = await streaming, await whole, await queued
        assert (cut.status, cut.error, cut.done) == (200, "the router is shutting down", False)
        assert (unanswered.status, waiting.status) == (503, 503)
        assert await ended(router.process) == 1
        await decoder.release("decoder.token")

    session.run(run())


def test_a_signal_before_any_decoder_is_there_ends_at_once(session, stage):
    async def run():
        router = await stage.router("--decoder", "http://127.0.0.1:9", bound=True)
        early = await router.ask(body(1))
        assert (early.status, early.headers["retry-after"]) == (503, "1")
        router.process.send(signal.SIGTERM)
        assert await ended(router.process, 3.0) == 0

    session.run(run())


def test_nothing_outlives_a_router_that_ends_in_order(session, stage):
    """A child that is deaf to TERM, and a provider whose own child has left its session."""

    async def run():
        deaf = stage.folders.cwd / "deaf"
        deaf.write_text(f"#!/bin/sh\ntrap '' TERM\n{shlex.quote(wrapped(stage))} \"$@\"\n")
        deaf.chmod(0o755)
        away = "setsid --fork sh -c 'echo away; exec sleep 601 >/dev/null' | read away"
        straying = shlex.join(["sh", "-c", f"{away}; cat >/dev/null; exit 4"])
        router = await stage.router(
            "--llama-server", str(deaf), "-m", "toy", "--provider", straying, "--", "-np", "1", "-c", "2048"
        )
        assert (await router.ask(body(1))).status == 200
        await stage.a_process("sleep 601")
        await stage.a_process(f"{sys.executable} -m fakes.decoder_server")
        router.process.send(signal.SIGTERM)
        assert await ended(router.process) == 0
        assert await stage.below("sleep 601") == []
        assert await stage.below(f"{sys.executable} -m fakes.decoder_server") == []

    session.run(run())
