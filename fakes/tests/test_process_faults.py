"""Faults of a decoder's process, its certificates and its share over a socket: each fires, each leaves the rest."""

import datetime
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time

import pytest
import trustme

from fakes.tests.raw import request, send
from fakes.tests.running import DEADLINE_S, REPOSITORY, running

HEALTH = request("GET", "/health")
BODY = {"prompt": [0, 300, 301, 302], "n_predict": 4, "id_slot": 0, "return_tokens": True}
COMPLETION = request("POST", "/completion", BODY)
SLOW = request("POST", "/completion", BODY | {"n_predict": 400, "stream": True})


def ended_with(decoder):
    """The exit status, and the journal's end record."""
    status = decoder.process.wait(DEADLINE_S)
    ends = decoder.entries("end")
    assert len(ends) == 1
    return status, ends[0]


def test_loading_that_takes_its_time(tmp_path):
    with running(tmp_path, "--fault", "load-slow=300") as decoder:
        loaded = decoder.entries("ready")[0]["t_ns"] - decoder.entries("start")[0]["t_ns"]
        assert loaded >= 300_000_000
        assert send(decoder, COMPLETION).status == 200


def started(tmp_path, *argv):
    """A decoder that may never be ready, listening on a socket in the file system."""
    words = ["--host", str(tmp_path / "d.sock"), "--journal", str(tmp_path / "j"), *argv]
    return subprocess.Popen(
        [sys.executable, "-m", "fakes.decoder_server", *words], stderr=subprocess.DEVNULL, cwd=REPOSITORY
    )


def health_over(path, process):
    while process.poll() is None:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(DEADLINE_S)
            try:
                client.connect(str(path))
            except OSError:
                continue
            client.sendall(HEALTH)
            return int(client.recv(64)[9:12])
    raise AssertionError("ended before it was asked")


def test_loading_that_never_ends(tmp_path):
    process = started(tmp_path, "--fault", "load-never")
    try:
        assert [health_over(tmp_path / "d.sock", process) for _ in range(3)] == [503] * 3
    finally:
        process.kill()
        process.wait()
    assert "ready" not in (tmp_path / "j").read_text()


@pytest.mark.parametrize(("value", "status"), [("", 1), ("=77", 77)])
def test_a_process_that_ends_while_it_loads(tmp_path, value, status):
    process = started(tmp_path, "--fault", f"load-dies{value}")
    assert process.wait(DEADLINE_S) == status
    end = json.loads((tmp_path / "j").read_text().splitlines()[-1])
    assert (end["event"], end["status"], end["by"]) == ("end", status, "fault")
    assert end["faults"] == {"load-dies": {"reached": 1, "fired": 1}}


def test_a_process_that_dies_when_it_has_been_ready(tmp_path):
    with running(tmp_path, "--fault", "die-after-ready=50") as decoder:
        status, end = ended_with(decoder)
    assert (status, end["status"], end["by"]) == (-signal.SIGKILL, -9, "fault")
    assert decoder.entries("ready")


@pytest.mark.parametrize(("value", "status"), [("kill", -9), ("segv", -11), ("abrt", -6), ("3", 3)])
def test_a_process_that_dies_of_a_request_and_of_that_one_only(tmp_path, value, status):
    with running(tmp_path, "--fault", f"die-on-request={value},op=completion,only=2") as decoder:
        assert send(decoder, HEALTH).status == 200
        assert send(decoder, COMPLETION).status == 200
        assert send(decoder, COMPLETION).how in ("reset", "close")
        assert ended_with(decoder)[0] == status


def test_a_process_that_dies_in_the_middle_of_a_stream(tmp_path):
    with running(tmp_path, "--fault", "stream-dies=2") as decoder:
        got = send(decoder, SLOW)
        assert (len(got.events), got.how, got.ended) == (2, "reset" if got.how == "reset" else "close", False)
        assert ended_with(decoder)[0] == -signal.SIGKILL


def test_a_process_that_stands_still_and_is_still_connected_to(tmp_path):
    with running(tmp_path, "--fault", "process-frozen,op=completion") as decoder:
        assert send(decoder, HEALTH).status == 200
        assert send(decoder, COMPLETION).how == "open"
        assert send(decoder, HEALTH).how == "open"
        decoder.process.send_signal(signal.SIGCONT)
        assert send(decoder, HEALTH).status == 200


def test_a_process_that_no_signal_but_kill_ends(tmp_path):
    with running(tmp_path, "--fault", "term-ignored") as decoder:
        for number in (signal.SIGTERM, signal.SIGINT):
            decoder.process.send_signal(number)
            assert send(decoder, COMPLETION).status == 200
        assert decoder.end(signal.SIGKILL) == -signal.SIGKILL
        assert decoder.entries("end")[0]["by"] == "fault"


def test_a_process_that_takes_its_time_to_end_and_serves_meanwhile(tmp_path):
    with running(tmp_path, "--fault", "term-slow=600") as decoder:
        start = time.monotonic()
        decoder.process.send_signal(signal.SIGTERM)
        assert send(decoder, COMPLETION).status == 200
        assert decoder.process.wait(DEADLINE_S) == 0
        assert time.monotonic() - start >= 0.6


def until_back(decoder):
    end = time.monotonic() + DEADLINE_S
    while send(decoder, HEALTH).status != 200:
        assert time.monotonic() < end, "waited for the decoder to be back"


@pytest.mark.parametrize(("fault", "seed"), [("back-empty", "toy"), ("back-as-other-model", "toy:seed=2")])
def test_a_process_that_is_back_as_another(tmp_path, fault, seed):
    with running(tmp_path, "--fault", f"{fault},op=completion,only=2") as decoder:
        first = send(decoder, COMPLETION).json
        assert send(decoder, COMPLETION).how == "reset"
        decoder.until_journal("restart")
        until_back(decoder)
        assert send(decoder, request("GET", "/props")).json["model_path"] == seed
        again = send(decoder, COMPLETION).json
        assert again["timings"]["cache_n"] == 0
        assert (again["tokens"] == first["tokens"]) == (fault == "back-empty")
        inodes = {entry["kv_inode"] for entry in decoder.entries("start")}
        assert len(inodes) == 2
        assert decoder.process.poll() is None


@pytest.mark.parametrize("is_on", [True, False])
def test_work_for_a_client_that_has_left(tmp_path, is_on):
    argv = ("--fault", "not-cancelled") if is_on else ()
    with running(tmp_path, "--decode-tps", "200", *argv) as decoder:
        body = request("POST", "/completion", BODY | {"n_predict": 40, "stream": True})
        with socket.create_connection(decoder.address, DEADLINE_S) as client:
            client.sendall(body)
            client.recv(1)
        entry = decoder.until_journal("completion")
        assert entry["cancelled"] is not is_on
        assert (entry["predicted_n"] == 40) is is_on


# A share over a real socket.


def share(decoder, folder):
    """What reaches the router's socket (bytes and the number of descriptors), and the HTTP reply, in their order."""
    path, order = folder / "s", []
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener, socket.create_connection(decoder.address, DEADLINE_S) as client:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(DEADLINE_S)
        client.sendall(request("POST", "/slots/0?action=share", {"socket": str(path), "n_tokens": 4}))
        client.settimeout(0.3)
        try:
            client.recv(1)
            order.append("reply")
        except TimeoutError:
            pass
        peer, _ = listener.accept()
        with peer:
            data, fds, _, _ = socket.recv_fds(peer, 1, 16)
            while piece := peer.recv(1 << 16):
                data += piece
        for fd in fds:
            os.close(fd)
        order.append("message")
    return data, len(fds), order


def test_descriptors_and_bytes_as_they_come_over_the_socket(tmp_path):
    with running(tmp_path) as decoder:
        honest = share(decoder, tmp_path)
        seen = {}
        for fault in ("kvshare-descriptors", "kvshare-descriptors=2", "kvshare-message-cut=9", "kvshare-message-text"):
            decoder.control("POST", "/faults", {"set": [fault], "clear": True})
            data, n_descriptors, _ = share(decoder, tmp_path)
            seen[fault] = (n_descriptors - honest[1], len(data) - len(honest[0]) if "descr" in fault else data[4:])
        decoder.control("POST", "/faults", {"set": ["kvshare-message-after=600"], "clear": True})
        assert share(decoder, tmp_path)[1:] == (honest[1], ["reply", "message"])
    assert seen == {
        "kvshare-descriptors": (-1, 0),
        "kvshare-descriptors=2": (2, 0),
        "kvshare-message-cut=9": (0, honest[0][4:9]),
        "kvshare-message-text": (0, b"the cache is yours"),
    }


# Certificates.


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Files in PEM: the authority's own, the decoder's, and the three that a client must not take."""
    folder = tmp_path_factory.mktemp("tls")
    authority, stranger = trustme.CA(), trustme.CA()
    long_ago = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    issued = {
        "good": authority.issue_cert("127.0.0.1"),
        "tls-wrong-name": authority.issue_cert("decoder.example"),
        "tls-expired": authority.issue_cert(
            "127.0.0.1", not_before=long_ago, not_after=long_ago + datetime.timedelta(1)
        ),
        "tls-unknown-authority": stranger.issue_cert("127.0.0.1"),
    }
    for name, one in issued.items():
        one.private_key_and_cert_chain_pem.write_to_path(folder / name)
    authority.cert_pem.write_to_path(folder / "authority")
    return folder


@pytest.fixture(scope="module")
def secure(certificates, tmp_path_factory):
    good = str(certificates / "good")
    with running(tmp_path_factory.mktemp("d"), "--ssl-cert-file", good, "--ssl-key-file", good) as decoder:
        yield decoder


def handshake(decoder, certificates):
    """Raises what the client finds wrong with the certificate."""
    context = ssl.create_default_context(cafile=str(certificates / "authority"))
    with (
        socket.create_connection(decoder.address, DEADLINE_S) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        client.sendall(HEALTH)
        return int(client.recv(64)[9:12])


CERTIFICATES = {
    "tls-wrong-name": "IP address mismatch",
    "tls-expired": "certificate has expired",
    "tls-unknown-authority": "unable to get local issuer",
}


@pytest.mark.parametrize("fault", CERTIFICATES)
def test_a_certificate_that_no_client_may_take(secure, certificates, fault):
    secure.control("POST", "/faults", {"set": [f"{fault}={certificates / fault},only=2"], "clear": True})
    assert handshake(secure, certificates) == 200
    with pytest.raises(ssl.SSLCertVerificationError, match=CERTIFICATES[fault]):
        handshake(secure, certificates)
    assert handshake(secure, certificates) == 200
    assert secure.control("GET", "/state")["faults"][fault] == {"reached": 3, "fired": 1}


TESTED = {
    "back-as-other-model",
    "back-empty",
    "die-after-ready",
    "die-on-request",
    "load-dies",
    "load-never",
    "load-slow",
    "not-cancelled",
    "process-frozen",
    "stream-dies",
    "term-ignored",
    "term-slow",
    *CERTIFICATES,
}
