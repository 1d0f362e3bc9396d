"""What no scenario plays: each lie, refusal and shortage of the catalogue before our router, one request each.

The request is answered in time, with the text of a decoder that is well wherever a router can know; the next one, with
the fault off, is too short to be handed over and has its plain text; nothing stays leased or in doubt; and after all of
them a prompt is handed over as before any.
"""

import json
import shlex
from dataclasses import dataclass

import aiohttp
import pytest

from gates.running import GAUGES, PROVIDER, Stage, body
from harness.clients import ask

pytestmark = pytest.mark.xdist_group("faults_before_the_router")
BOUND_S = 21.0
SHORT = 8
"""Tokens of a prompt that is not worth a handoff."""
ROUTER_FLAGS = (
    "--decoder-cache-ram", "0", "--kv-share", "--share-timeout", "2", "--restore-timeout", "5",
    "--provider-timeout", "15", "--first-byte-timeout", "3", "--request-timeout", "20",
)  # fmt: skip
FILE = "kvshare-refuse"
"""With it the state-file route is taken."""


@dataclass(frozen=True)
class Case:
    """`says` is what stands in the router's log; with `wrong` it cannot know, and the text is another."""

    faults: tuple[str, ...]
    says: str = ""
    wrong: bool = False
    status: int = 200

    @property
    def name(self):
        return " ".join(self.faults)


def case(*faults, **more):
    return Case(faults, **more)


ADOPT_COUNT = "the backend prefills this request itself"
CANNOT = "the state-file route is used"
LOST = "the handed-over KV was not used"
CASES = (
    case("kvshare-descriptors", says=CANNOT),
    case("kvshare-descriptors=3", says=CANNOT),
    case("kvshare-message-late=200"),
    case("kvshare-message-late=9000", says=CANNOT),
    case("kvshare-message-after=200"),
    case("kvshare-message-after=9000", says=CANNOT),
    case("kvshare-message-cut", says=CANNOT),
    case("kvshare-message-length", says=CANNOT),
    case("kvshare-message-length=more", says=CANNOT),
    case("kvshare-message-length=zero", says=CANNOT),
    case("kvshare-message-text", says=CANNOT),
    case("kvshare-header=layout", says=CANNOT),
    case("kvshare-header=size", says=CANNOT),
    case("kvshare-header=cells"),
    case("kvshare-header=missing", says=CANNOT),
    case("kvshare-foreign-cells", wrong=True),
    case("kvshare-other-share-id", says=CANNOT),
    case("kvshare-adopt-empty", says=LOST),
    case("kvshare-adopt-fewer=3", says=ADOPT_COUNT),
    case("kvshare-adopt-count", says=ADOPT_COUNT),
    case("reuse-none", says=LOST),
    case("reuse-not-pinned", says=LOST),
    case("reuse-then-reset", wrong=True),
    case("reuse-everything", wrong=True),
    case("slot-actions-off=400", says="answered 400"),
    case("slot-actions-off=501", says="answered 501"),
    case("counters-lie=unused", says=LOST),
    case("counters-lie=less", says="tokens of a prompt of 40"),
    case("counters-lie=more", says="tokens of a prompt of 40"),
    case("counters-lie=negative"),
    case("reply-no-timings"),
    case("restore-count", FILE, says=ADOPT_COUNT),
    case("restore-path-removed", FILE, says="restore answered 400"),
    case("restore-stale-rows", FILE, wrong=True),
    case("restore-empty", FILE, says=LOST),
    case("erase-refuse", "kvshare-adopt-refuse", says="without its cache"),
    case("erase-ignored", "kvshare-adopt-refuse", says=ADOPT_COUNT),
    case("wait-for-kv", status=504),
    case("provider-fails-after-claim=7", says="provider exited 7"),
    case("provider-killed=100", says="provider was killed"),
    case("provider-capacity=9", says="provider exited 1"),
    case("provider-disk-full=500", FILE, says="provider exited 1"),
    case("provider-nothing-done", FILE, says=ADOPT_COUNT),
    case("provider-one-row-more", says="provider prefilled 41 of 40 tokens into the shared region"),
    case("provider-one-row-more", FILE, says="provider prefilled 41 of 40 tokens"),
    case("provider-one-row-more=hidden", FILE, says=ADOPT_COUNT),
    case("provider-shifted-rows", wrong=True),
    case("provider-damaged-row", wrong=True),
    case("provider-noise"),
    case("provider-long-line"),
    case("provider-loud"),
    case("provider-leaves-child"),
    case("provider-slow-write=300"),
    case("provider-late=300"),
    case("kvshare-count"),
)


@dataclass
class Found:
    """A reply and the one after it, their plain replies, and what the router said of each."""

    replies: list
    plain: list
    logs: list
    fired: dict


@pytest.fixture(scope="module")
def found(session, tmp_path_factory):
    """Every case on one router and one decoder, with a second decoder that is well beside it for the plain texts."""
    stage = Stage(session, tmp_path_factory.mktemp("faults"))
    yield session.run(_all(stage))
    assert session.run(stage.end()) == []


async def _all(stage):
    plain, decoder = await stage.fake(slots=2), await stage.fake(slots=2)
    told = stage.folders.cwd / "provider"
    provider = shlex.join(["sh", "-c", f"exec {PROVIDER} $(cat {told})"])
    slots = ("--slot-save-path", str(stage.folders.slots))
    router = await stage.router("--decoder", decoder.url, "--provider", provider, *slots, *ROUTER_FLAGS)
    seen = {}
    async with aiohttp.ClientSession() as http:
        for at, each in enumerate(CASES):
            journal = stage.evidence / f"provider{at}.jsonl"
            faults = [f"--fault {fault}" for fault in each.faults if fault.startswith("provider-")]
            told.write_text(" ".join(["--journal", str(journal), *faults]))
            seen[each.name] = await _one(http, router, decoder, plain, each, 2 * at)
            if faults:
                seen[each.name].fired |= json.loads(journal.read_text().splitlines()[-1])["faults"]
    return seen


async def _one(http, router, decoder, plain, each, seed):
    seen = Found([], [], [], {})
    await decoder.tell("/faults", {"set": [fault for fault in each.faults if not fault.startswith("provider-")]})
    for asked in (body(seed), body(seed + 1, SHORT)):
        start = len(router.log)
        seen.replies.append(await router.ask(asked, deadline_s=BOUND_S))
        seen.plain.append(await ask(http, plain.url + "/v1/completions", asked, BOUND_S))
        seen.logs.append(router.log[start:])
        seen.fired |= (await decoder.tell("/state"))["faults"]
        await decoder.tell("/faults", {"clear": True})
    await router.shows(GAUGES)
    return seen


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_it_is_answered_named_and_over_with(found, each):
    seen = found[each.name]
    assert len(seen.fired) == len(each.faults)
    assert all(count["fired"] >= 1 for count in seen.fired.values()), seen.fired
    first, after = seen.replies
    assert first.status == each.status, (first, seen.logs[0])
    if each.status == 200:
        assert (first.text == seen.plain[0].text) is not each.wrong, seen.logs[0]
    assert each.says in seen.logs[0], seen.logs[0]
    assert after.status == 200, seen.logs[1]
    assert after.text == seen.plain[1].text


def test_after_all_of_them_a_prompt_is_handed_over_as_ever(found):
    last = found[CASES[-1].name]
    assert CASES[-1].faults == ("kvshare-count",)  # where there is nothing that a router has to mind
    assert last.replies[0].headers["x-kvgate-handoff"] == "used", last.logs[0]
