"""A decoder's own state file is looked at before its first handoff: once, in the leased slot, and nothing is left."""

import asyncio

import pytest

from router.own_state import OwnState
from router.tests.llama_peer import running
from router.tests.test_dispatch import LOOK, PROMPT, QUICK, run, until, with_prefill_server

F16, Q8_0 = 1, 8
OTHER_TYPE = "the state file does not fit this decoder: K rows of layer 0 are q8_0 of 8 bytes, not f16 of 8 bytes; "
PLAIN = "the backend prefills this request itself"


@pytest.mark.parametrize(
    ("decoder_state", "prefill_state", "words"),
    [
        ({"key_type": F16}, {"key_type": Q8_0}, OTHER_TYPE),
        ({"version": 4}, {"version": 3}, "the state file does not fit this decoder: state version 3, not 4; "),
    ],
)
def test_the_first_misfit_is_refused_before_the_decoder_reads_it(tmp_path, decoder_state, prefill_state, words):
    async def story(front, decoder, prefill):
        decoder.state, prefill.state = decoder_state, prefill_state
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.route) == (200, ("plain", "inspect-other-layout"))
        assert front.hybrid == [words + PLAIN]
        assert decoder.calls == [*LOOK, "erase", "completions"]
        assert decoder.bodies == [{"prompt": PROMPT, "id_slot": 0, "cache_prompt": True}]
        assert b'failures_total{outcome="other-layout",step="inspect"} 1.0' in front.parts.metrics.text()

    with_prefill_server(tmp_path, story)


def test_a_strict_router_refuses_a_misfit(tmp_path):
    async def story(front, decoder, prefill):
        decoder.state, prefill.state = {"key_type": F16}, {"key_type": Q8_0}
        reply = await front.post({"prompt": PROMPT})
        assert reply.status == 502
        assert front.hybrid == [OTHER_TYPE + "the request is refused"]
        await until(lambda: decoder.calls == [*LOOK, "erase"])

    with_prefill_server(tmp_path, story, strict=True)


def test_a_decoder_is_looked_at_once(tmp_path):
    async def story(front, decoder, prefill):
        replies = await asyncio.gather(front.post({"prompt": PROMPT}), front.post({"prompt": PROMPT[::-1]}))
        await front.post({"prompt": PROMPT[5:]})
        assert [reply.route[0] for reply in replies] == ["state-file", "state-file"]
        assert decoder.names("completion", "save") == LOOK
        assert decoder.names("restore") == ["restore"] * 3

    with_prefill_server(tmp_path, story)


def test_what_another_decoder_took_does_not_count_for_the_one_after_it(tmp_path):
    async def story(front, peer):
        await front.post({"prompt": PROMPT})
        assert peer.names(*LOOK) == LOOK
        port = int(peer.url.rpartition(":")[2])
        peer.die()
        await until(lambda: not front.parts.decoders.ready())
        peer.slots = [[], []]
        async with running(peer, tmp_path, port):
            await until(lambda: len(front.parts.decoders.ready()) == 1)
            await front.post({"prompt": PROMPT})
            assert peer.names(*LOOK) == LOOK * 2

    run(tmp_path, story, kv_share=False)


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ({"completion": (400, {})}, "completion answered 400: {}"),
        ({"save": (500, {})}, "save answered 500: {}"),
        ({"save": (200, {"n_saved": 2})}, "a state file of 0 bytes: its head alone has 12"),
    ],
)
def test_a_decoder_that_shows_nothing_is_given_nothing(tmp_path, answers, line):
    async def story(front, peer):
        peer.answers = answers
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.route[0]) == (200, "plain")
        assert front.hybrid == [f"the decoder's own state file could not be looked at: {line}; {PLAIN}"]
        assert "restore" not in peer.calls
        peer.answers = {}
        reply = await front.post({"prompt": PROMPT[::-1]})
        assert reply.route[0] == "state-file"

    run(tmp_path, story, kv_share=False)


@pytest.mark.parametrize("call", LOOK)
def test_a_look_that_hangs_costs_the_handoff(tmp_path, call):
    async def story(front, peer):
        peer.hangs = {call}
        reply = await front.post({"prompt": PROMPT})
        assert reply.route == ("plain", "own-state-timed-out")
        assert front.hybrid[0].startswith(
            f"the decoder's own state file could not be looked at: no answer within {QUICK.restore:g} s; "
        )
        assert peer.calls[-2:] == ["erase", "completions"]

    run(tmp_path, story, kv_share=False)


def test_a_file_that_is_written_after_its_client_has_left_goes_with_the_erase(tmp_path):
    async def story(front, peer):
        peer.hangs = {"save", "erase"}
        await front.leave_after({"prompt": PROMPT}, lambda: until(lambda: "save" in peer.calls))
        await until(lambda: "erase" in peer.calls)
        (late,) = tmp_path.glob("kvgate-*.bin")
        late.write_bytes(b"late")
        peer.hangs = set()
        await until(lambda: not late.exists())

    run(tmp_path, story, kv_share=False)


def test_who_waits_for_anothers_look_takes_its_place_when_it_is_given_up():

    async def whole():
        own, begun, never = OwnState(), asyncio.Event(), asyncio.Event()

        async def hangs():
            begun.set()
            await never.wait()

        async def answers():
            return "kind"

        first = asyncio.create_task(own.learn(hangs))
        await begun.wait()
        second = asyncio.create_task(own.learn(answers))
        first.cancel()
        assert await second == "kind"
        assert await own.learn(hangs) == "kind"

    asyncio.run(whole())
