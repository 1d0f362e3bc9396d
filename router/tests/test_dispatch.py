"""Whole requests through a router in this process, before a scripted decoder: what the decoder is asked, what the
client and the log are told, and that every slot comes back."""

import asyncio
import io
import json
import os
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path

import pytest

from router.config import Config, Timeouts
from router.errors import Misfit
from router.http1 import Head, ReplyReader, encode_request
from router.lifecycle import Lifecycle
from router.log import Log
from router.parts import Keys, Parts
from router.routes import shared
from router.slots import State
from router.tests.llama_peer import LlamaPeer, running

PROMPT = list(range(100, 130))
WRITES_FILE = """
import json, struct, sys
job = json.loads(sys.stdin.readline())
n = len(job["tokens"])
if job["route"] == "state-file":
    open(job["state_file"], "wb").write(struct.pack(f"<4sII{n}i", b"qsgg", 4, n, *job["tokens"]))
print(json.dumps({"n_tokens": len(job["tokens"]), "prefill_ms": 1}))
"""
LOOK = ["completion", "save"]
"""What a decoder is asked before its first state file."""
QUICK = Timeouts(share=0.3, descriptors=0.2, provider=5, restore=0.3, first_byte=5, stream=0.5, request=20, drain=5)


@dataclass
class Reply:
    head: Head
    body: bytes
    whole: bool

    @property
    def status(self):
        return self.head.status

    @property
    def route(self):
        return self.head.headers.get("x-kvgate-route"), self.head.headers.get("x-kvgate-reason")


class Running:
    """A router at work, and what can be seen of it."""

    def __init__(self, parts, lines, port):
        self.parts, self._lines, self.port = parts, lines, port

    @property
    def hybrid(self):
        lines = self._lines.getvalue().splitlines()
        return [line.removeprefix("hybrid: ") for line in lines if line.startswith("hybrid: ")]

    def requests(self):
        return [line for line in self._lines.getvalue().splitlines() if " path=" in line]

    async def post(self, body, path="/v1/completions", headers=None):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(encode_request("POST", path, "router", headers or {}, raw))
        reply, parts = ReplyReader(), []
        async with asyncio.timeout(20):
            while not reply.ended and (data := await reader.read(65536)):
                parts.append(reply.receive(data))
        writer.close()
        return Reply(reply.head, b"".join(parts), reply.ended)

    async def leave_after(self, body, event):
        """A client that hangs up as soon as `event` happens."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(encode_request("POST", "/v1/completions", "router", {}, json.dumps(body).encode()))
        await writer.drain()
        await event()
        writer.close()

    async def all_free(self, n):
        """Every slot is nobody's again, in the end."""
        table = self.parts.leases.table
        await until(lambda: table.count(State.FREE) == n)


async def until(true, seconds=10.0):
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        while not true():
            ready = loop.create_future()
            loop.call_later(0.005, ready.set_result, None)
            await ready


@asynccontextmanager
async def router(tmp_path, *peers, provider=WRITES_FILE, prefill=None, **settings):
    """A router before running peers, with a provider that is a script."""
    script = tmp_path / "provider.py"
    script.write_text(provider)
    command = (sys.executable, "-I", "-S", str(script)) if provider else ()
    if isinstance(prefill, LlamaPeer):
        settings["prefill_url"] = prefill.url
    settings = {"kv_share": bool(provider), "slot_save_path": tmp_path, "timeouts": QUICK, **settings}
    settings = {"decoder_cache_ram": "0", **settings}
    config = Config(port=0, decoders=tuple(peer.url for peer in peers), provider=command, **settings)
    lines = io.StringIO()
    log = Log(False, lines)
    parts = Parts(config, Keys(config), log)
    lifecycle = Lifecycle(config, parts, None, log)
    running_router = asyncio.create_task(lifecycle.run())
    try:
        await until(lambda: running_router.done() or len(parts.decoders.ready()) == len(peers))
        await until(lambda: running_router.done() or "listening on" in lines.getvalue())
        if running_router.done():
            await running_router
        port = int(lines.getvalue().rpartition("listening on http://127.0.0.1:")[2].split()[0])
        yield Running(parts, lines, port)
    finally:
        lifecycle._ending.set()
        assert await running_router == 0
    assert list(tmp_path.glob("kvgate-*")) == [], "nothing is left behind"


def run(tmp_path, story, *, peers=1, n_slots=2, **settings):
    """Runs `story(router, peer...)`."""

    async def whole():
        async with asyncio.timeout(60):
            made = [LlamaPeer(n_slots) for _ in range(peers)]
            async with _all_running(made, tmp_path), router(tmp_path, *made, **settings) as front:
                await story(front, *made)
                await front.all_free(n_slots * len(front.parts.decoders.ready()))

    asyncio.run(whole())


@asynccontextmanager
async def _all_running(peers, folder):
    if not peers:
        yield
        return
    async with running(peers[0], folder), _all_running(peers[1:], folder):
        yield


def test_a_shared_handoff(tmp_path):
    async def story(front, peer):
        peer.answers.clear()
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.route) == (200, ("shared", "handed-over"))
        assert reply.head.headers["x-kvgate-handoff"] == "used"
        assert peer.calls == ["share", "adopt", "completions"]
        assert peer.bodies == [{"prompt": PROMPT, "id_slot": 0, "cache_prompt": True}]
        await until(lambda: front.hybrid)
        assert front.hybrid[0].startswith("30 prompt tokens: prefill 1 ms, restore 0 ms, share ")
        assert "share 0.000" not in front.hybrid[0]

    run(tmp_path, story)


def test_a_refused_share_takes_the_state_file_route_and_says_so_once(tmp_path):
    async def story(front, peer):
        reply = await front.post({"prompt": PROMPT})
        assert reply.route == ("state-file", "share-refused")
        assert peer.calls == ["share", *LOOK, "restore", "completions"]
        assert peer.bodies[0]["id_slot"] == 0
        await until(lambda: len(front.hybrid) == 2)
        assert front.hybrid[0].endswith("; this decoder cannot share its KV, so the state-file route is used")
        assert ", share 0.000 ms, first byte" in front.hybrid[1]

    run(tmp_path, story)


def test_every_request_asks_again(tmp_path):
    async def story(front, peer):
        await front.post({"prompt": PROMPT})
        await front.post({"prompt": PROMPT[::-1]})
        assert peer.names("share") == ["share", "share"]

    run(tmp_path, story)


@pytest.mark.parametrize(
    ("answers", "provider", "calls", "line"),
    [
        (
            {"adopt": (400, REFUSED := {"error": {"message": "Cannot adopt the shared cells: taken"}})},
            WRITES_FILE,
            ["share", "adopt", "erase", "completions"],
            "adopt answered 400: " + json.dumps(REFUSED) + "; the backend prefills this request itself",
        ),
        (
            {"adopt": (200, {"id_slot": 0, "n_adopted": 29})},
            WRITES_FILE,
            ["share", "adopt", "erase", "completions"],
            'adopt answered 200: {"id_slot": 0, "n_adopted": 29}; the backend prefills this request itself',
        ),
        (
            {},
            "import sys; sys.exit(3)",
            ["share", "erase", "completions"],
            "provider exited 3; the backend prefills this request itself",
        ),
        (
            {},
            "import os; os.kill(os.getpid(), 9)",
            ["share", "erase", "completions"],
            "provider was killed by SIGKILL; the backend prefills this request itself",
        ),
        (
            {},
            "print('{\"n_tokens\": 29}')",
            ["share", "erase", "completions"],
            "provider prefilled 29 of 30 tokens into the shared region; the backend prefills this request itself",
        ),
    ],
    ids=["adopt refused", "adopted too few", "exit 3", "killed", "short claim"],
)
def test_behind_a_share_the_slot_is_erased_before_a_plain_request(tmp_path, answers, provider, calls, line):
    async def story(front, peer):
        peer.answers = dict(answers)
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.route[0]) == (200, "plain")
        assert peer.calls == calls
        assert peer.bodies[0] == {"prompt": PROMPT, "id_slot": 0, "cache_prompt": True}
        assert front.hybrid == [line]

    run(tmp_path, story, provider=provider)


@pytest.mark.parametrize("share", [(200, {}), (200, []), (200, {"share_id": 7})], ids=["no id", "no object", "no text"])
def test_a_share_without_an_id_is_erased_before_the_state_file_route(tmp_path, share):
    async def story(front, peer):
        peer.answers = {"share": share}
        reply = await front.post({"prompt": PROMPT})
        assert reply.route[0] == "state-file"
        assert peer.calls == ["share", "erase", *LOOK, "restore", "completions"]

    run(tmp_path, story)


def test_descriptors_that_never_come(tmp_path):
    async def story(front, peer):
        peer.answers = {"share": (200, {"share_id": "s1"})}
        await front.post({"prompt": PROMPT})
        assert peer.calls == ["share", "erase", *LOOK, "restore", "completions"]
        assert front.hybrid[0].startswith("no descriptors came within 0.2 s")

    run(tmp_path, story)


def test_a_share_that_hangs_is_followed_by_an_erase(tmp_path):
    async def story(front, peer):
        peer.answers, peer.hangs = {}, {"share"}
        reply = await front.post({"prompt": PROMPT})
        assert reply.route == ("state-file", "share-timed-out")
        assert peer.calls == ["share", "erase", *LOOK, "restore", "completions"]

    run(tmp_path, story)


def test_where_the_erase_is_refused_nothing_of_the_slot_is_trusted_and_nobody_gets_it(tmp_path):
    async def story(front, peer):
        peer.answers = {"share": (400, {}), "restore": (400, {}), "erase": (500, {})}
        reply = await front.post({"prompt": PROMPT})
        assert reply.route == ("plain", "restore-refused")
        assert peer.bodies[0] == {"prompt": PROMPT, "id_slot": 0, "cache_prompt": False}
        assert front.parts.leases.table.count(State.DOUBTFUL) == 1
        await front.post({"prompt": PROMPT[::-1]})
        assert peer.bodies[1]["id_slot"] == 1
        del peer.answers["erase"]

    run(tmp_path, story)


def test_a_reply_without_the_rows_is_lost_and_says_so(tmp_path):
    async def story(front, peer):
        peer.answers["restore"] = (200, {"n_restored": 30})
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.head.headers["x-kvgate-handoff"]) == (200, "lost")
        assert front.hybrid[-1] == (
            "the decoder evaluated 30 of 30 prompt tokens after a handoff: the handed-over KV was not used"
        )

    run(tmp_path, story)


def test_hold_back_leaves_the_last_token_to_the_decoder(tmp_path):
    async def story(front, peer):
        await front.post({"prompt": PROMPT})
        assert front.parts.leases.table is not None
        assert peer.slots[0] == PROMPT
        assert front.requests()[0].count(" prompt=30 handed=29 cached=29 evaluated=1 ") == 1

    run(tmp_path, story, hold_back=1)


def test_a_next_turn_goes_to_its_slot_without_a_handoff(tmp_path):
    async def story(front, peer):
        await front.post({"prompt": PROMPT})
        await front.post({"prompt": [7] * 30})
        reply = await front.post({"prompt": [*PROMPT, 1, 2, 3]})
        assert reply.route == ("plain", "warm-prefix")
        assert peer.bodies[2]["id_slot"] == 0
        assert len(peer.names("restore")) == 2

    run(tmp_path, story)


def test_a_chat_is_tokenized_by_the_decoder_and_forwarded_as_it_came(tmp_path):
    async def story(front, peer):
        raw = b'{ "messages": [{"role": "user", "content": "a question that is long enough"}], "temperature": 0.10 }'
        reply = await front.post(raw, "/v1/chat/completions")
        assert reply.status == HTTPStatus.OK
        assert peer.calls[:2] == ["apply-template", "tokenize"]
        assert peer.bodies[0]["temperature"] == 0.1

    run(tmp_path, story)


def test_what_is_not_handed_over_is_named_and_pinned(tmp_path):
    async def story(front, peer):
        reply = await front.post({"prompt": ["one", "two"]})
        assert reply.route == ("plain", "several-prompts")
        assert peer.calls == ["completions"]
        assert peer.bodies[0]["id_slot"] == 0
        assert front.hybrid == [
            "not handed over: several prompts in one request; the backend prefills this request itself"
        ]

    run(tmp_path, story)


def test_a_prompt_too_long_for_any_slot_is_refused_before_anything_is_paid(tmp_path):
    async def story(front, peer):
        reply = await front.post({"prompt": [1] * 1024})
        assert reply.status == 400
        assert json.loads(reply.body)["error"]["type"] == "exceed_context_size_error"
        assert peer.calls == []

    run(tmp_path, story)


def test_a_decoder_that_refuses_connections_is_503_and_gets_no_second_route(tmp_path):
    async def story(front, peer):
        peer.die()
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.head.headers["retry-after"]) == (503, "1")
        assert peer.calls == []
        assert (await front.post({"prompt": PROMPT})).status == 503

    run(tmp_path, story)


def test_another_decoder_serves_what_a_dead_one_has_not_seen(tmp_path):
    async def story(front, dead, alive):
        dead.die()
        for _ in range(2):
            assert (await front.post({"prompt": PROMPT})).status == 200
        assert (dead.calls, len(alive.bodies)) == ([], 2)

    run(tmp_path, story, peers=2)


@pytest.mark.parametrize("phase", ["share", *LOOK, "restore", "completions"])
def test_a_client_that_leaves_in_any_phase_leaves_no_slot_behind(tmp_path, phase):
    async def story(front, peer):
        peer.hangs = {phase}
        await front.leave_after({"prompt": PROMPT}, lambda: until(lambda: phase in peer.calls))
        await until(lambda: peer.n_hung_up == 1)
        peer.hangs = set()
        await front.all_free(2)
        assert peer.calls[-1] == "erase", "a late answer must not land on somebody else's tokens"
        assert (await front.post({"prompt": PROMPT})).status == 200

    slow = replace(QUICK, share=10, restore=10, first_byte=10)
    run(tmp_path, story, timeouts=slow)


def test_who_leaves_just_as_the_descriptors_come_leaves_none_open(tmp_path, monkeypatch):
    came = []

    async def story(front, peer):
        peer.answers.clear()
        take = shared._lent

        async def taken(*words):
            lent = await take(*words)
            came.extend((fd, os.fstat(fd).st_ino) for fd in lent.fds)
            asyncio.current_task().cancel()
            return lent

        def none_is_open():
            held = {int(name) for name in os.listdir("/proc/self/fd")}
            return not any(fd in held and os.stat(f"/proc/self/fd/{fd}").st_ino == inode for fd, inode in came)

        monkeypatch.setattr(shared, "_lent", taken)
        await front.leave_after({"prompt": PROMPT}, lambda: until(lambda: came))
        await until(none_is_open)
        await front.all_free(2)

    run(tmp_path, story)


def test_a_client_that_leaves_while_the_provider_runs_ends_the_provider(tmp_path):
    pid_file = tmp_path / "pid"
    provider = f"import os, signal\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()))\nsignal.pause()\n"

    async def story(front, peer):
        peer.answers.clear()
        await front.leave_after(
            {"prompt": PROMPT}, lambda: until(lambda: pid_file.exists() and pid_file.read_text() != "")
        )
        await until(lambda: not Path(f"/proc/{pid_file.read_text()}").exists(), 2)
        await front.all_free(2)
        assert peer.calls == ["share", "erase"]

    run(tmp_path, story, provider=provider)


def test_a_queued_client_that_leaves_is_never_dispatched(tmp_path):
    async def story(front, peer):
        peer.hold = asyncio.Event()
        first = asyncio.create_task(front.post({"prompt": PROMPT}))
        await until(lambda: peer.bodies)
        await front.leave_after({"prompt": [5] * 30}, lambda: until(lambda: front.parts.leases.n_waiting == 1))
        await until(lambda: front.parts.leases.n_waiting == 0)
        peer.hold.set()
        assert (await first).status == 200
        assert len(peer.bodies) == 1

    run(tmp_path, story, n_slots=1)


def test_a_stream_is_relayed_byte_by_byte(tmp_path):
    async def story(front, peer):
        reply = await front.post({"prompt": PROMPT, "stream": True})
        assert reply.whole
        assert reply.body.startswith(b': ping\n\ndata: {"choices":[{"text":"x"}]}\n\n')
        assert reply.body.endswith(b"data: [DONE]\n\n")
        await until(lambda: len(front.hybrid) == 2)

    run(tmp_path, story)


@pytest.mark.parametrize("cut_after", [2, 3])
def test_a_stream_that_is_cut_never_ends_like_a_whole_one(tmp_path, cut_after):
    async def story(front, peer):
        peer.stream_cut_after = cut_after
        reply = await front.post({"prompt": PROMPT, "stream": True})
        assert not reply.whole
        assert b'data: {"error"' in reply.body
        assert b"[DONE]" not in reply.body

    run(tmp_path, story)


@pytest.mark.parametrize("cut_after", [0, 1])
def test_a_stream_that_breaks_before_its_first_event_is_an_error_status(tmp_path, cut_after):
    async def story(front, peer):
        peer.stream_cut_after = cut_after
        reply = await front.post({"prompt": PROMPT, "stream": True})
        assert (reply.status, reply.whole) == (502, True)

    run(tmp_path, story)


def test_a_stream_without_its_end_mark_is_not_finished(tmp_path):
    async def story(front, peer):
        peer.tail = []
        reply = await front.post({"prompt": PROMPT, "stream": True})
        assert not reply.whole

    run(tmp_path, story)


def test_strict_refuses_a_plain_route_before_dispatch(tmp_path):
    async def story(front, peer):
        peer.answers["restore"] = (400, {})
        failed = await front.post({"prompt": PROMPT})
        planned = await front.post({"prompt": [1, 2, 3]})
        assert (failed.status, planned.status) == (502, 400)
        assert peer.bodies == []

    run(tmp_path, story, strict=True)


def test_strict_does_not_pass_a_lost_handoff_on(tmp_path):
    async def story(front, peer):
        peer.answers["restore"] = (200, {"n_restored": 30})
        whole = await front.post({"prompt": PROMPT})
        stream = await front.post({"prompt": PROMPT[::-1], "stream": True})
        assert (whole.status, whole.head.headers["x-kvgate-handoff"]) == (502, "lost")
        assert (stream.whole, b"[DONE]" in stream.body, b'"error"' in stream.body) == (False, False, True)

    run(tmp_path, story, strict=True)


def test_the_decoders_own_error_reaches_the_client(tmp_path):
    async def story(front, peer):
        peer.answers["completions"] = (400, {"error": {"message": "no such grammar"}})
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, json.loads(reply.body)) == (400, {"error": {"message": "no such grammar"}})

    run(tmp_path, story)


def with_prefill_server(tmp_path, story, *, n_prefill_slots=2, **settings):
    """Runs `story(router, decoder, prefill server)`; the decoder refuses to share."""

    async def whole():
        async with asyncio.timeout(60):
            decoder, prefill = LlamaPeer(), LlamaPeer(n_prefill_slots)
            async with (
                running(decoder, tmp_path),
                running(prefill, tmp_path),
                router(tmp_path, decoder, provider="", prefill=prefill, hold_back=1, **settings) as front,
            ):
                await story(front, decoder, prefill)
                await front.all_free(2)

    asyncio.run(whole())


@pytest.mark.parametrize("kv_share", [False, True])
def test_a_prefill_server_saves_what_the_decoder_restores(tmp_path, kv_share):
    async def story(front, decoder, prefill):
        reply = await front.post({"prompt": PROMPT})
        assert (reply.route[0], reply.head.headers["x-kvgate-handoff"]) == ("state-file", "used")
        assert prefill.calls == ["completion", "save"]
        assert decoder.calls == (["share"] if kv_share else []) + [*LOOK, "restore", "completions"]
        assert prefill.slots[0] == PROMPT[:-1]

    with_prefill_server(tmp_path, story, kv_share=kv_share)


def test_a_granted_share_is_given_back_where_a_prefill_server_cannot_use_it(tmp_path):
    async def story(front, decoder, prefill):
        decoder.answers.clear()
        reply = await front.post({"prompt": PROMPT})
        assert reply.route == ("state-file", "provider-cannot-share")
        assert decoder.calls == ["share", "erase", *LOOK, "restore", "completions"]

    with_prefill_server(tmp_path, story, kv_share=True)


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ({"save": (200, {"n_saved": 28})}, "provider prefilled 28 of 29 tokens; "),
        ({"save": (500, {})}, "prefill server answered save with 500: {}; "),
        ({"completion": (400, {"error": {}})}, "prefill server answered prefill with 400: "),
    ],
    ids=["short", "save refused", "prefill refused"],
)
def test_what_a_prefill_server_does_not_do_is_named(tmp_path, answers, line):
    async def story(front, decoder, prefill):
        prefill.answers = answers
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.route[0]) == (200, "plain")
        assert front.hybrid[0].startswith(line)
        assert "restore" not in decoder.calls

    with_prefill_server(tmp_path, story)


def test_a_dead_prefill_server_costs_the_handoff_and_not_the_request(tmp_path):
    async def story(front, decoder, prefill):
        prefill.die()
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.route) == (200, ("plain", "provider-cut-off"))

    with_prefill_server(tmp_path, story)


def test_a_client_that_leaves_stops_the_prefill_server(tmp_path):
    async def story(front, decoder, prefill):
        prefill.hangs = {"completion"}
        await front.leave_after({"prompt": PROMPT}, lambda: until(lambda: prefill.calls == ["completion"]))
        await until(lambda: prefill.n_hung_up == 1, 2)

    with_prefill_server(tmp_path, story)


def test_servers_with_different_slot_counts_do_not_fit(tmp_path):
    async def story(*_):
        pytest.fail("the router must not start")

    with pytest.raises(Misfit, match="3 slots and 2"):
        with_prefill_server(tmp_path, story, n_prefill_slots=3)


def test_a_decoder_that_comes_back_is_served_from_again(tmp_path):
    async def story(front, peer):
        port = int(peer.url.rpartition(":")[2])
        await front.post({"prompt": PROMPT})
        peer.die()
        assert (await front.post({"prompt": PROMPT})).status == 503
        async with running(LlamaPeer(), tmp_path, port) as again:
            await until(front.parts.decoders.ready)
            reply = await front.post({"prompt": PROMPT})
            assert reply.route[0] == "state-file", "what the dead one held is forgotten"
            assert again.calls == ["share", *LOOK, "restore", "completions"]
            await front.all_free(2)

    run(tmp_path, story)


def test_every_request_ends_with_one_line(tmp_path):
    async def story(front, peer):
        await front.post({"prompt": PROMPT})
        await front.post(b"{")
        await front.post({"prompt": PROMPT, "stream": True})
        await until(lambda: len(front.requests()) == 3)
        outcomes = [line.partition("outcome=")[2].split()[0] for line in front.requests()]
        assert outcomes == ["served", "refused", "served"]

    run(tmp_path, story)


def test_a_bug_before_the_answer_is_a_500_and_counted_as_refused(tmp_path, monkeypatch):
    async def story(front, peer):
        async def serve(*_):
            raise RuntimeError("planted")

        monkeypatch.setattr(front.parts.front._dispatcher, "serve", serve)
        reply = await front.post({"prompt": PROMPT})
        assert (reply.status, reply.whole) == (500, True)
        await until(lambda: len(front.requests()) == 1)
        assert " status=500 outcome=refused " in front.requests()[0]

    run(tmp_path, story)


def test_a_bug_in_the_middle_of_a_stream_splices_nothing_into_it(tmp_path, monkeypatch):
    async def story(front, peer):
        async def end(*_):
            raise RuntimeError("planted")

        monkeypatch.setattr("router.relay._Stream._end", end)
        reply = await front.post({"prompt": PROMPT, "stream": True})
        assert (reply.status, reply.whole) == (200, False)
        assert b"internal error" not in reply.body
        await until(lambda: len(front.requests()) == 1)
        assert " outcome=broken " in front.requests()[0]

    run(tmp_path, story)
