"""Attacks on a running router: who may use it, what a client reaches through it, what it tells, what it endures."""

import asyncio
import gzip
import json
import os
import re
import socket
import ssl
import stat

import aiohttp
import pytest
import trustme

from gates.load.campaign import resident_bytes
from gates.running import GAUGES, body
from harness.clients import Sent, ask, exchange
from harness.deadline import until
from harness.plan import base_env

KEY, OTHER_KEY, DECODERS_KEY = "sk-client-5c1f", "sk-second-77aa", "sk-decoder-e0d4"
SECRET_WORDS = "the prompt nobody else may read"


def kept(stage, name, text):
    path = stage.folders.cwd / name
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


async def status_of(url, path="/v1/completions", method="POST", headers=None, data=b"{}", tls=None):
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, url + path, data=data, headers=headers or {}, ssl=tls) as answer,
    ):
        return answer.status, await answer.text()


async def said_raw(port, *parts, seconds=5.0):
    """What comes back for raw bytes, sent one part after the other, until the router closes or says no more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(seconds):
            head = await reader.read(65536)
        return head
    finally:
        writer.close()


# Who may use it.


def test_nobody_without_a_key_gets_further_than_health(session, stage):
    async def run():
        decoder = await stage.fake("--api-key", DECODERS_KEY)
        keys = kept(stage, "keys", f"# ours\n{KEY}\n\n{OTHER_KEY}\n")
        router = await stage.router(
            "--decoder", decoder.url, "--api-key-file", keys,
            "--decoder-api-key-file", kept(stage, "decoder-key", DECODERS_KEY),
        )  # fmt: skip
        asked = json.dumps(body(1)).encode()
        wrong = [
            {}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {KEY[:-1]}"}, {"Authorization": KEY[1:]},
            {"Authorization": f"Bearer {DECODERS_KEY}"}, {"X-Api-Key": KEY + "x"}, {"X-Api-Key": "# ours"},
            {"Authorization": "Bearer wrong", "X-Api-Key": KEY}, {"Cookie": f"key={KEY}"},
        ]  # fmt: skip
        for headers in wrong:
            for method, path in (("POST", "/v1/completions"), ("GET", "/v1/models"), ("GET", "/metrics")):
                status, text = await status_of(router.url, path, method, headers, asked if method == "POST" else None)
                assert (status, json.loads(text)["error"]["type"]) == (401, "authentication_error"), (headers, path)
                assert KEY not in text
        assert (await status_of(router.url, f"/v1/models?api_key={KEY}", "GET"))[0] == 401
        assert (await status_of(router.url, "/health", "GET"))[0] == 200
        for headers in ({"Authorization": f"Bearer {OTHER_KEY}"}, {"X-Api-Key": KEY}):
            assert (await status_of(router.url, headers=headers, data=asked))[0] == 200
        assert len(await decoder.completions()) == 2

    session.run(run())


def test_tls_on_both_sides(session, stage):
    async def run():
        authority, stranger = trustme.CA(), trustme.CA()
        files = {}
        for name, issuer in (("router", authority), ("decoder", authority), ("strange", stranger)):
            certificate = issuer.issue_cert("127.0.0.1", "localhost")
            files[name] = [stage.folders.cwd / f"{name}.{part}" for part in ("pem", "key")]
            certificate.cert_chain_pems[0].write_to_path(files[name][0])
            certificate.private_key_pem.write_to_path(files[name][1])
        trusted = stage.folders.cwd / "ca.pem"
        authority.cert_pem.write_to_path(trusted)

        def flags(name):
            return "--ssl-cert-file", str(files[name][0]), "--ssl-key-file", str(files[name][1])

        good, strange = await stage.fake(*flags("decoder")), await stage.fake(*flags("strange"))
        router = await stage.router(
            "--decoder", good.url, strange.url, "--decoder-ca", str(trusted),
            "--tls-cert", str(files["router"][0]), "--tls-key", str(files["router"][1]),
        )  # fmt: skip
        assert router.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(trusted))
        asked = json.dumps(body(1)).encode()
        assert (await status_of(router.url, data=asked, tls=context))[0] == 200
        await router.says(f"decoder {strange.url} is not ready: its certificate is not trusted")
        assert f"decoder {strange.url} is ready" not in router.log
        with pytest.raises(aiohttp.ClientError):
            await status_of(router.url.replace("https", "http"), data=asked)
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await status_of(router.url, data=asked)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(aiohttp.ClientError):
            await status_of(router.url, data=asked, tls=old)
        assert (await status_of(router.url, data=asked, tls=context))[0] == 200

    session.run(run())


# What a client can reach.

CLOSED = (
    ("POST", "/slots/0?action=erase"), ("POST", "/slots/0?action=save"), ("GET", "/slots"), ("GET", "/props"),
    ("POST", "/props"), ("POST", "/completion"), ("POST", "/completions"), ("POST", "/chat/completions"),
    ("POST", "/infill"), ("POST", "/embedding"), ("POST", "/v1/embeddings"), ("POST", "/tokenize"),
    ("POST", "/detokenize"), ("POST", "/apply-template"), ("GET", "/lora-adapters"), ("POST", "/lora-adapters"),
    ("POST", "/v1/messages"), ("POST", "/v1/responses"), ("POST", "/v1/completions/../../slots/0?action=erase"),
    ("POST", "/v1/completions/"), ("POST", "//v1/completions"), ("POST", "/v1/%63ompletions/x"), ("GET", "/"),
    ("PUT", "/v1/completions"), ("DELETE", "/v1/models"), ("OPTIONS", "*"),
)  # fmt: skip


def test_no_route_but_the_documented_ones_reaches_a_decoder(session, stage):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url)
        await router.shows({f'kvgate_decoder_ready{{decoder="{decoder.url}"}}': 1.0})
        asked = json.dumps(body(1)).encode()
        for method, path in CLOSED:
            raw = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(asked)}\r\n\r\n".encode() + asked
            status = (await said_raw(router.port, raw)).split()[1]
            assert status in (b"404", b"400", b"405"), (method, path, status)
        entries = (await decoder.tell("/journal"))["entries"]
        reached = {each["event"] for each in entries} - {"start", "ready"}
        assert reached <= {"save", "disconnect"}, reached
        assert all(each.get("status") != 200 for each in entries if each["event"] == "save")

    session.run(run())


def test_no_header_or_field_chooses_a_backend_a_slot_a_file_or_a_handle(session, stage):
    async def run():
        decoder, other = await stage.fake(slots=2), await stage.fake(slots=2)
        router = await stage.router("--decoder", decoder.url, *stage.handing_over("--kv-share"))
        headers = {
            "X-KVGate-Route": "shared", "X-Decoder": other.url, "X-Backend": other.url, "X-Forwarded-Host": other.url,
            "Host": other.url.removeprefix("http://"), "X-Slot": "1", "X-Request-Id": "mine", "Forwarded": "host=evil",
        }  # fmt: skip
        fields = {
            "slot_id": 1, "slot": 1, "share_id": "x", "state_file": "/etc/passwd", "filename": "../x", "socket": "/x",
            "backend": other.url, "decoder": other.url, "decoder_url": other.url, "model": other.url, "route": "plain",
        }  # fmt: skip
        async with aiohttp.ClientSession() as http:
            sent = Sent("/v1/completions", body(1, **fields), headers=headers)
            reply = await exchange(http, router.url, sent, 10.0, asyncio.Event())
        assert (reply.status, reply.headers["x-kvgate-route"]) == (200, "shared")
        assert reply.headers["x-request-id"] != "mine"
        (entry,) = await decoder.completions()
        assert (entry["id_slot"], entry["served_slot"]) == (0, 0)
        assert await other.completions() == []
        absolute = json.dumps(body(2)).encode()
        raw = f"POST {other.url}/v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(absolute)}\r\n\r\n".encode()
        await said_raw(router.port, raw + absolute)
        assert await other.completions() == []

    session.run(run())


SLOT_BODIES = (
    b'{"prompt": "x", "max_tokens": 1, "id_slot": 1}',
    b'{"prompt": "x", "max_tokens": 1, "id_slot": null, "id_slot": 1}',
    b'{"prompt": "x", "max_tokens": 1, "id_slot": 1, "id_slot": null}',
    b'{"prompt": "x", "max_tokens": 1, "\\u0069d_slot": 1}',
    b'{"prompt": "x", "max_tokens": 1, "id_slot": "1"}',
    b'{"prompt": "x", "max_tokens": 1, "id_slot": -1}',
    b'{"prompt": "x", "max_tokens": 1, "cache_prompt": false, "cache_prompt": true, "id_slot": 1.0}',
    b'{"prompt": "x", "max_tokens": 1, "x": {"id_slot": 1}}',
    b'{"prompt": "x}", "max_tokens": 1, "y": "\\"}, \\"id_slot\\": 1" }  \r\n',
)


@pytest.mark.parametrize("raw", SLOT_BODIES)
def test_a_slot_of_the_clients_own_is_refused_or_overruled(session, stage, raw):
    async def run():
        decoder = await stage.fake(slots=2)
        router = await stage.router("--decoder", decoder.url)
        status, _ = await status_of(router.url, data=raw, headers={"Content-Type": "application/json"})
        entries = await decoder.completions()
        if status == 200:
            assert [(each["id_slot"], each["served_slot"]) for each in entries] == [(0, 0)]
        else:
            assert (status, entries) == (400, [])

    session.run(run())


def post(headers, body_=b""):
    return b"POST /v1/completions HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n" + body_


SMUGGLED = b'{"prompt":"x","max_tokens":1}'
SMUGGLING = {
    "both lengths": post(b"Content-Length: 29\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + SMUGGLED),
    "two lengths": post(b"Content-Length: 29\r\nContent-Length: 5\r\n", SMUGGLED),
    "a signed length": post(b"Content-Length: +29\r\n", SMUGGLED),
    "a header with a blank": post(b"Content-Length : 29\r\n", SMUGGLED),
    "a folded header": post(b"X: a\r\n b: c\r\nContent-Length: 29\r\n", SMUGGLED),
    "a NUL in a header": post(b"X: a\x00b\r\nContent-Length: 29\r\n", SMUGGLED),
    "a chunk size of nonsense": post(b"Transfer-Encoding: chunked\r\n", b"zz\r\n" + SMUGGLED),
}


@pytest.mark.parametrize("kind", SMUGGLING)
def test_a_request_that_can_be_read_in_two_ways_is_refused(session, stage, kind):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url)
        answer = await said_raw(router.port, SMUGGLING[kind])
        assert answer.split()[1] == b"400", answer[:200]
        assert await decoder.completions() == []

    session.run(run())


# What it gives away.


def test_secrets_and_prompts_are_in_no_log_no_child_and_no_report(session, stage):
    async def run():
        decoder = await stage.fake("--api-key", DECODERS_KEY)
        tell = "sh -c 'env >&2; exit 3'"
        router = await stage.router(
            "--decoder", decoder.url, "--provider", tell, "--slot-save-path", str(stage.folders.slots),
            "--api-key-file", kept(stage, "keys", KEY), "--log-format", "json",
            "--decoder-api-key-file", kept(stage, "decoder-key", DECODERS_KEY),
            env={"LLAMA_API_KEY": "sk-from-the-environment", "SOME_URL": f"http://u:{DECODERS_KEY}@h"},
        )  # fmt: skip
        authorized = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        asked = {"prompt": f"{SECRET_WORDS} " * 8, "max_tokens": 8}
        status, text = await status_of(router.url, headers=authorized, data=json.dumps(asked).encode())
        assert status == 200
        await status_of(router.url, headers={"Authorization": "Bearer guess-1234"}, data=b"{}")
        await status_of(router.url, headers=authorized, data=f'{{"prompt": "{SECRET_WORDS}"'.encode())
        _, metrics = await status_of(router.url, "/metrics", "GET", authorized, None)
        answered = json.loads(text)["choices"][0]["text"].strip()
        await router.says("provider exited 3")
        await router.says("PATH=")
        everywhere = router.log + metrics + " ".join(router.process.argv)
        for secret in (KEY, DECODERS_KEY, "guess-1234", "sk-from-the-environment", SECRET_WORDS, answered):
            assert secret not in everywhere, secret
        assert "Traceback" not in router.log

    session.run(run())


def test_check_config_shows_no_key(session, stage):
    async def run():
        from gates.commands import ROUTER

        process = await asyncio.create_subprocess_exec(
            ROUTER, "check-config", "--decoder", "http://127.0.0.1:9", "--api-key-file", kept(stage, "keys", KEY),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=base_env("build", stage.folders),
        )  # fmt: skip
        out, _ = await process.communicate()
        assert process.returncode == 0
        assert b"keys of clients = 1" in out
        assert KEY.encode() not in out

    session.run(run())


def test_state_files_and_sockets_are_private_and_their_names_unguessable(session, stage):
    async def run():
        names = []
        for point, share in (("decoder.restore-asked", "--no-kv-share"), ("decoder.share-asked", "--kv-share")):
            decoder = await stage.fake()
            router = await stage.router("--decoder", decoder.url, *stage.handing_over(share))
            await decoder.hold(point)
            asking = asyncio.create_task(router.ask(body(1)))
            await decoder.is_held(point)
            made = [*stage.folders.slots.rglob("*"), *stage.folders.tmp.rglob("*")]
            assert made
            for path in made:
                mode, owner = path.lstat().st_mode, path.lstat().st_uid
                assert owner == os.getuid()
                private = any(stat.S_IMODE(each.stat().st_mode) == 0o700 for each in [path.parent, *path.parents][:2])
                assert stat.S_IMODE(mode) & 0o077 == 0 or (path.is_socket() and private), (path, oct(mode))
            names += [path.name for path in made if path.suffix == ".bin"]
            names += [path.parent.name for path in made if path.is_socket()]
            await decoder.release(point)
            assert (await asking).status == 200
            await stage.stop(router.process)
        assert len(names) == 2
        assert all(re.search(r"[0-9a-f]{16,}", name) for name in names), names

    session.run(run())


def test_links_that_somebody_planted_are_not_followed(session, stage):
    async def run():
        slots, precious = stage.folders.slots, stage.folders.cwd / "precious"
        precious.mkdir()
        (precious / "kept").write_text("kept")
        (slots / "kvgate-dead.lock").touch(mode=0o600)
        (slots / "kvgate-dead-file.bin").symlink_to(precious / "kept")
        (slots / "kvgate-dead-folder").symlink_to(precious, target_is_directory=True)
        (slots / "kvgate-linked.lock").symlink_to(precious / "kept")
        (slots / "kvgate-linked-1.bin").write_text("of somebody else")
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url, *stage.handing_over())
        assert (await router.ask(body(1))).headers["x-kvgate-route"] == "state-file"
        assert (precious / "kept").read_text() == "kept"
        left = {path.name for path in slots.iterdir() if "dead" in path.name or "linked" in path.name}
        assert left == {"kvgate-linked.lock", "kvgate-linked-1.bin"}
        for name in left:
            (slots / name).unlink()

    session.run(run())


# What it endures.


def test_bodies_and_heads_have_limits(session, stage):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url, "--max-body", "4096", "--stream-timeout", "1")
        big = json.dumps({"prompt": "x" * 5000, "max_tokens": 1}).encode()
        assert (await status_of(router.url, data=big))[0] == 413
        announced = post(b"Content-Length: 99999999999\r\n")
        assert (await said_raw(router.port, announced)).split()[1] == b"413"
        chunked = post(b"Transfer-Encoding: chunked\r\n")
        answer = await said_raw(router.port, chunked, b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"10\r\n" + b"x" * 16)
        assert answer.split()[1] == b"413"
        for head in (b"X: " + b"x" * 70_000 + b"\r\n", b"".join(b"X%d: y\r\n" % n for n in range(20_000))):
            answer = await said_raw(router.port, post(head))
            assert answer == b"" or answer.split()[1] in (b"400", b"431"), answer[:100]
        answer = await said_raw(router.port, b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n")
        assert answer == b"" or answer.split()[1] in (b"400", b"414"), answer[:100]
        deep = b'{"prompt": "x", "a": ' + b"[" * 2000 + b"]" * 2000 + b"}"
        assert (await status_of(router.url, data=deep))[0] in (200, 400)
        assert (await router.ask(body(1))).status == 200
        assert "Traceback" not in router.log

    session.run(run())


def test_a_compressed_body_is_refused_and_an_expected_one_is_asked_for(session, stage):
    """What a body unpacks to is known too late; a client that waits for the word to go on gets it, within the limit."""

    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url, "--max-body", "4096")
        bomb = gzip.compress(b" " * 1_000_000)
        for encoding in ("gzip", "deflate", "br"):
            answer = await said_raw(
                router.port,
                post(b"Content-Encoding: %s\r\nContent-Length: %d\r\n" % (encoding.encode(), len(bomb)), bomb),
            )
            assert answer.split()[1] in (b"400", b"415"), answer[:100]
        asked = json.dumps(body(1)).encode()
        expects = b"Expect: 100-continue\r\nContent-Length: %d\r\n"
        assert (await said_raw(router.port, post(expects % len(asked)))).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert (await said_raw(router.port, post(expects % 5000))).split()[1] == b"413"
        assert (await status_of(router.url, headers={"Expect": "100-continue"}, data=asked))[0] == 200
        await router.shows(GAUGES)

    session.run(run())


def test_a_slow_body_is_bounded_however_it_comes(session, stage):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url, "--stream-timeout", "0.5", "--request-timeout", "2")
        silent = await said_raw(router.port, post(b"Content-Length: 500\r\n", b'{"prompt'))
        assert silent.split()[1] == b"408"
        reader, writer = await asyncio.open_connection("127.0.0.1", router.port)
        writer.write(post(b"Content-Length: 500\r\n"))
        answer = asyncio.create_task(reader.read(4096))

        async def dripped():
            """A byte now and then, each in time for the silence that is allowed."""
            writer.write(b"x")
            return True if answer.done() else None

        await until(5.0, "the router to give the drip up", dripped)
        assert (await answer).split()[1] == b"408"
        writer.close()
        await router.shows(GAUGES)
        assert await decoder.completions() == []

    session.run(run())


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_does_not_read_is_given_up_and_bound_in_memory(session, stage, stream):
    async def run():
        # The peer answers with 12 MB at once; the fake streams for as long as it is read.
        decoder = await stage.fake("-c", "65536") if stream else await stage.wedging("500000")
        router = await stage.router("--decoder", decoder.url, "--stream-timeout", "1")
        before = resident_bytes(router.process.pid)
        asked = json.dumps(body(1, max_tokens=60_000, stream=stream)).encode()
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(deaf, ("127.0.0.1", router.port))
        await loop.sock_sendall(deaf, post(b"Content-Length: %d\r\n" % len(asked), asked))
        await router.says("outcome=cancelled", seconds=20.0)
        if stream:
            assert resident_bytes(router.process.pid) - before < 32 << 20
        deaf.close()
        await router.shows(GAUGES)
        assert (await router.ask(body(1))).status == 200

    session.run(run())


def test_many_idle_and_half_open_connections_do_not_keep_others_out(session, stage):
    async def run():
        decoder = await stage.fake()
        router = await stage.router("--decoder", decoder.url)
        opened = [await asyncio.open_connection("127.0.0.1", router.port) for _ in range(300)]
        for _, writer in opened[::2]:
            writer.write(b"POST /v1/comp")
        async with aiohttp.ClientSession() as http:
            reply = await ask(http, router.url + "/v1/completions", body(1), 5.0)
        assert reply.status == 200
        for _, writer in opened:
            writer.close()

    session.run(run())
