"""Faults by chance: the same seed makes the same journal, times apart, and another seed another one; and two at once.

A seed that is not read would pass the first half alone, and one that is not kept the second.
"""

import asyncio
import json

import aiohttp
import pytest

from gates.running import tokens

pytestmark = pytest.mark.xdist_group("faults_repeat")
N_REQUESTS = 16
FAULTS = ("http-status=503,p=0.3", "counters-lie=less,p=0.4", "stream-cut=2,p=0.5", "restore-empty,p=0.5")
OF_THE_RUN = ("t_ns", "pid", "t_start_ns", "t_first_ns", "t_end_ns", "kv_inode", "kv_inodes", "argv", "url", "faults")


async def ask(http, url, path, body, **headers):
    async with http.post(url + path, json=body, headers=headers) as answer:
        try:
            return answer.status, await answer.read()
        except aiohttp.ClientPayloadError:
            return answer.status, b""


async def journal_of(stage, seed):
    """The journal of one fake after the same requests, without what no two runs have in common."""
    fake = await stage.fake(*(word for fault in FAULTS for word in ("--fault", f"{fault},seed={seed}")), slots=2)
    async with aiohttp.ClientSession() as http:
        for n in range(N_REQUESTS):
            body = {"prompt": tokens(n), "n_predict": 6, "temperature": 0.9, "seed": n, "id_slot": n % 2}
            await ask(http, fake.url, "/completion", body | {"stream": n % 3 == 0})
            await ask(http, fake.url, f"/slots/{n % 2}?action=save", {"filename": f"s{n % 2}"})
            await ask(http, fake.url, f"/slots/{n % 2}?action=restore", {"filename": f"s{n % 2}"})
    for file in stage.folders.slots.iterdir():
        file.unlink()  # the next one begins as this one did
    entries = (await fake.tell("/journal"))["entries"]
    assert len(entries) > 3 * N_REQUESTS
    return [{name: value for name, value in entry.items() if name not in OF_THE_RUN} for entry in entries]


def fired(journal):
    return [(entry["name"], entry["reached"]) for entry in journal if entry["event"] == "fault"]


def test_a_seed_makes_the_journal_and_another_seed_another(session, stage):
    async def three():
        return [await journal_of(stage, seed) for seed in (7, 7, 8)]

    first, again, other = session.run(three())
    assert first == again
    assert fired(first) != fired(other)
    for journal in (first, other):
        assert {name for name, _ in fired(journal)} == {fault.partition("=")[0].partition(",")[0] for fault in FAULTS}


def test_two_at_once_on_one_fake_behind_one_router_meet_their_own_faults_alone(session, stage):
    """No header comes through a router: the word is in the prompt."""

    async def one(http, url, word, n):
        body = {"prompt": f"{word} tells of the river {n}", "max_tokens": 4, "temperature": 0}
        return (await ask(http, url, "/v1/completions", body))[0]

    async def both():
        fake = await stage.fake(slots=4)
        router = await stage.router("--decoder", fake.url)
        connector = aiohttp.UnixConnector(str(fake.control))
        async with aiohttp.ClientSession(connector=connector) as control, aiohttp.ClientSession() as http:
            for word, status in (("anna", "429"), ("bert", "418")):
                told = {"set": [f"http-status={status},op=completion,every=2"]}
                assert (await ask(control, "http://fake", "/faults", told, **{"X-Fake-Scope": word}))[0] == 200
            rounds = [
                await asyncio.gather(*(one(http, router.url, word, n) for word in ("anna", "bert", "cleo")))
                for n in range(8)
            ]
            counts = []
            for word in ("anna", "bert"):
                async with control.get("http://fake/state", headers={"X-Fake-Scope": word}) as answer:
                    counts.append(json.loads(await answer.read())["faults"]["http-status"])
            return list(zip(*rounds, strict=True)), counts

    (anna, bert, cleo), counts = session.run(both())
    assert anna == (200, 429) * 4
    assert bert == (200, 418) * 4
    assert cleo == (200,) * 8
    assert counts == [{"reached": 8, "fired": 4}] * 2
