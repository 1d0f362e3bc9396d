"""What the router says of a handoff is what its decoder counted, and what it knows is what is still so."""

import asyncio

import pytest

from router.decoder_client import DecoderClient
from router.facts import Facts, read_facts
from router.proof import Timings, Use, gone_cold, prove
from router.tests.llama_peer import LlamaPeer, running
from router.tests.test_dispatch import PROMPT, run, until, with_prefill_server

HANGS = "import time\ntime.sleep(60)\n"


def test_a_decoder_that_evaluates_nothing_is_not_believed():
    proof = prove(Timings(30, 0), 30, 30)
    assert proof.use is Use.UNKNOWN
    assert [finding.words for finding in proof.findings] == [
        "the decoder counted 30 cached and 0 evaluated tokens of a prompt of 30"
    ]


def test_a_slot_that_no_longer_holds_what_it_was_given_is_named():
    assert gone_cold(Timings(29, 1), 30, 30) == ()
    assert gone_cold(Timings(20, 10), 30, 20) == ()
    assert [finding.words for finding in gone_cold(Timings(0, 30), 30, 25)] == [
        "the decoder evaluated 30 of 30 prompt tokens: its slot no longer held the 25 it was given"
    ]


@pytest.mark.parametrize(
    ("answer", "serves"),
    [
        ((400, {"error": {"message": "Invalid filename"}}), True),
        ((400, {"error": {"message": "Invalid action"}}), False),
        ((501, {"error": {"message": "This server does not support slots action."}}), False),
    ],
)
def test_slot_actions_are_probed_without_touching_a_slot(tmp_path, answer, serves):
    async def whole():
        peer = LlamaPeer()
        peer.answers["probe"] = answer
        async with running(peer, tmp_path):
            client = DecoderClient(peer.url)
            facts = await read_facts(client)
            client.close()
            assert isinstance(facts, Facts)
            assert facts.serves_actions is serves
            assert peer.calls == []

    asyncio.run(whole())


@pytest.mark.parametrize(("cache_ram", "told"), [("unknown", "unverified"), ("0", "used")])
def test_a_handoff_is_verified_only_where_the_decoder_has_no_cache_of_its_own(tmp_path, cache_ram, told):
    async def story(front, peer):
        reply = await front.post({"prompt": PROMPT})
        assert reply.head.headers["x-kvgate-handoff"] == told

    run(tmp_path, story, decoder_cache_ram=cache_ram)


def test_what_is_prefilled_twice_is_told_of_the_request_itself(tmp_path):
    async def story(front, peer):
        peer.answers = {"adopt": (400, {"error": {"message": "no"}})}
        await front.post({"prompt": PROMPT})
        await until(lambda: len(front.requests()) == 1)
        assert f"again={len(PROMPT)}" in front.requests()[0]

    async def unstarted(front, peer):
        peer.answers["share"] = (501, {})
        await front.post({"prompt": PROMPT})
        await until(lambda: len(front.requests()) == 1)
        assert "again=0" in front.requests()[0]

    run(tmp_path, story)
    run(tmp_path, unstarted)


def test_a_handoff_ends_with_its_decoder(tmp_path):
    async def story(front, peer):
        asked = asyncio.create_task(front.post({"prompt": PROMPT}))
        await until(lambda: "share" in peer.calls or "tokenize" in peer.calls or asked.done())
        peer.die()
        async with asyncio.timeout(3):
            reply = await asked
        assert reply.status == 503
        assert b"out of service before its rows were there" in reply.body

    async def shared(front, peer):
        peer.answers.clear()
        await story(front, peer)

    run(tmp_path, shared, provider=HANGS)


def test_a_prefill_server_that_has_become_another_one_is_asked_for_nothing(tmp_path):
    async def story(front, decoder, prefill):
        settings = {"n_ctx": prefill.n_ctx}
        prefill.answers["props"] = (
            200,
            {"total_slots": 2, "default_generation_settings": settings, "model_path": "/other.gguf"},
        )
        reply = await front.post({"prompt": PROMPT})
        assert reply.route == ("plain", "provider-other-model")
        assert prefill.calls == []

    with_prefill_server(tmp_path, story)
