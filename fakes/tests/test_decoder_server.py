"""The fake decoder as a process: start and end, sockets, disconnects, and a share over a real socket."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from fakes.tests.running import DEADLINE_S, REPOSITORY, running
from wire.region import ShareMessageDecoder

PROMPT = {"prompt": "The otter counts", "n_predict": 3}


@pytest.fixture
def decoder(tmp_path):
    with running(tmp_path) as one:
        yield one


def refused(*argv: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "fakes.decoder_server", *argv]
    done = subprocess.run(command, capture_output=True, cwd=REPOSITORY, timeout=DEADLINE_S, text=True)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_it_starts_serves_and_ends_with_0_and_an_end_record(decoder):
    assert decoder.ask("GET", "/health") == (200, {"status": "ok"})
    assert decoder.post("/completion", PROMPT)[1]["timings"]["predicted_n"] == 3
    assert decoder.end() == 0
    assert [entry["status"] for entry in decoder.entries("end")] == [0]
    assert decoder.entries("ready")[0]["url"] == decoder.url
    assert not decoder.control_path.exists()
    assert b"cleaning up before exit..." in decoder.stderr


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["--frobnicate"], "error: invalid argument: --frobnicate\n"),
        (["--fault", "kvshare-refse"], "did you mean kvshare-refuse"),
        (["--port", "0", "-m", "/no/such.gguf"], "exiting due to model loading error"),
        (
            ["--port", "0", "--control", "/no/such/dir/c.sock"],
            "cannot listen on the control socket /no/such/dir/c.sock",
        ),
        (["--journal", "/no/such/dir/j"], "cannot write the journal"),
    ],
)
def test_what_cannot_start_says_why_and_ends_with_1(argv, text):
    status, stderr = refused(*argv)
    assert status == 1
    assert text in stderr
    assert "Traceback" not in stderr


def test_a_port_in_use_is_named(decoder):
    host, port = decoder.address
    status, stderr = refused("--port", str(port))
    assert status == 1
    assert f"couldn't bind HTTP server socket, hostname: {host}, port: {port}" in stderr


def test_it_answers_503_until_it_is_loaded_and_a_signal_before_that_kills(tmp_path):
    journal = tmp_path / "j"
    bound = socket.create_server(("127.0.0.1", 0))
    port = bound.getsockname()[1]
    bound.close()
    command = [sys.executable, "-m", "fakes.decoder_server", "--port", str(port), "--load-seconds", "600"]
    process = subprocess.Popen([*command, "--journal", str(journal)], stderr=subprocess.DEVNULL, cwd=REPOSITORY)
    try:
        assert health_when_bound(port, process) == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()
    assert [json.loads(line)["event"] for line in journal.read_text().splitlines()] == ["start", "end"]


def health_when_bound(port: int, process: subprocess.Popen) -> int:
    while process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status
        except ConnectionError:
            continue
        finally:
            connection.close()
    raise AssertionError("ended before it was bound")


def stream(decoder, body) -> socket.socket:
    client = socket.create_connection(decoder.address, DEADLINE_S)
    raw = json.dumps(body | {"stream": True}).encode()
    client.sendall(b"POST /completion HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(raw), raw))
    return client


@pytest.mark.parametrize("how", ["close", "half-close"])
def test_a_client_that_goes_away_frees_its_slot(decoder, how):
    decoder.control("POST", "/hold", {"point": "decoder.token", "at": 2})
    client = stream(decoder, PROMPT | {"n_predict": 500})
    decoder.until_journal("held")
    client.close() if how == "close" else client.shutdown(socket.SHUT_WR)
    entry = decoder.until_journal("completion")
    assert (entry["cancelled"], entry["predicted_n"]) == (True, 2)
    assert decoder.until_journal("disconnect")["path"] == "/completion"
    assert not decoder.ask("GET", "/slots")[1][1]["is_processing"]
    client.close()


def test_a_stream_may_be_read_and_its_connection_used_again(decoder):
    connection = http.client.HTTPConnection(*decoder.address, timeout=DEADLINE_S)
    for _ in range(3):
        connection.request("POST", "/completion", json.dumps(PROMPT | {"stream": True}))
        reply = connection.getresponse()
        assert reply.getheader("Transfer-Encoding") == "chunked"
        assert reply.read().count(b"data: ") == 4
    connection.close()


def test_an_error_closes_the_connection_and_so_does_the_hundredth_answer(decoder):
    connection = http.client.HTTPConnection(*decoder.address, timeout=DEADLINE_S)
    closes = []
    for _ in range(100):
        connection.request("GET", "/health")
        reply = connection.getresponse()
        reply.read()
        closes.append(reply.getheader("Connection") == "close")
    assert closes == [False] * 99 + [True]
    connection.close()
    connection.request("GET", "/nowhere")
    assert connection.getresponse().getheader("Connection") == "close"
    connection.close()


@pytest.mark.parametrize("junk", [b"\x16\x03\x01\x00\n", b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"])
def test_what_is_no_http_is_answered_400_without_a_body_and_the_next_is_served(decoder, junk):
    with socket.create_connection(decoder.address, DEADLINE_S) as client:
        client.sendall(junk)
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b"\r\n\r\n")
    assert decoder.ask("GET", "/health")[0] == 200


def test_two_requests_are_put_in_order_by_hold_and_release(decoder):
    decoder.control("POST", "/hold", {"point": "decoder.started"})
    first = stream(decoder, PROMPT | {"id_slot": 0})
    decoder.until_journal("held")
    second = stream(decoder, PROMPT | {"id_slot": 0})
    assert decoder.control("GET", "/state")["slots"][0]["state"] == "busy"
    assert decoder.control("POST", "/release", {"point": "decoder.started"})["released"] == 1
    for client in (first, second):
        data = b""
        while not data.endswith(b"\r\n0\r\n\r\n"):
            data += client.recv(65536)
        client.close()
    assert [entry["cache_n"] for entry in decoder.entries("completion")] == [0, 4]


def test_a_share_hands_over_the_decoders_own_memory(decoder, tmp_path):
    path = str(tmp_path / "share.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        status, reply = decoder.post("/slots/0?action=share", {"socket": path, "n_tokens": 5})
        assert status == 200
        with listener.accept()[0] as peer:
            data, fds, flags, _ = socket.recv_fds(peer, 1, 16)
            assert flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC) == 0
            decoding = ShareMessageDecoder()
            header = decoding.receive(data)
            while header is None:
                header = decoding.receive(peer.recv(65536))
    assert header.share_id == reply["share_id"]
    inodes = [os.fstat(fd).st_ino for fd in fds]
    assert inodes == decoder.entries("start")[0]["kv_inodes"]
    assert [os.fstat(fd).st_size for fd in fds] == [region.size for region in header.regions]
    with pytest.raises(PermissionError):
        os.ftruncate(fds[0], 0)
    for fd in fds:
        os.close(fd)


def test_a_share_with_nobody_at_the_socket_is_refused(decoder, tmp_path):
    status, body = decoder.post("/slots/0?action=share", {"socket": str(tmp_path / "none"), "n_tokens": 5})
    assert status == 400
    assert "cannot connect to" in body["error"]["message"]
    assert decoder.entries("share")[0]["connected"] is False


def test_faults_come_from_the_environment(tmp_path):
    with running(tmp_path, FAKE_KVSHARE_REFUSE="1") as decoder:
        assert decoder.post("/slots/0?action=share", {"socket": "/x", "n_tokens": 5})[0] == 400
        assert decoder.end() == 0
        faults = decoder.entries("end")[0]["faults"]
        assert faults == {"kvshare-refuse": {"reached": 1, "fired": 1}}


def test_a_second_fake_of_the_same_model_gives_the_same_reply(decoder, tmp_path):
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    with running(other_folder) as other:
        replies = [one.post("/completion", PROMPT | {"return_tokens": True})[1]["tokens"] for one in (decoder, other)]
    assert replies[0] == replies[1]
