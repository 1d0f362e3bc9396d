"""A tenth of the HTTP fuzz run, on the fake decoder and on a router before one; `make fuzz` is the whole of it."""

import sys

import pytest

from gates.fuzz import http
from gates.fuzz.http import Fell, fuzz
from gates.fuzz.malformed import Malformed


@pytest.mark.parametrize("against", http.AGAINST)
def test_a_thousand_malformed_requests_are_survived(against):
    kinds = fuzz(1000, seed=2, against=against)
    assert len(kinds) == 11
    assert min(kinds.values()) > 50


def test_the_fuzzer_sees_another_answer(monkeypatch):
    said = iter("ab")
    monkeypatch.setattr(http, "_good", lambda port: next(said))
    with pytest.raises(Fell, match="a good request after it got another answer"):
        fuzz(10, seed=1)


def test_the_fuzzer_sees_that_a_whole_request_is_not_answered(monkeypatch):
    monkeypatch.setattr(http, "malformed", lambda rng: Malformed("cut", b"GET / HTTP/1.1\r\n", True))
    monkeypatch.setattr(http, "ANSWER_S", 0.2)
    monkeypatch.setattr(http, "_good", lambda port: "")
    with pytest.raises(Fell, match="no end of the connection within"):
        fuzz(1, seed=1)


def test_the_fuzzer_sees_what_is_no_http(monkeypatch):
    monkeypatch.setattr(http, "exchange", lambda port, data, whole: b"SSH-2.0")
    monkeypatch.setattr(http, "_good", lambda port: "")
    with pytest.raises(Fell, match="an answer that is no HTTP"):
        fuzz(1, seed=1)


def test_the_fuzzer_sees_a_server_that_died(monkeypatch, tmp_path):
    program = "import sys; print('listening on http://127.0.0.1:9', file=sys.stderr); sys.exit(3)"
    with http.running([sys.executable, "-c", program], tmp_path / "dead.log") as server:
        server.process.wait(http.ANSWER_S)
        with pytest.raises(Fell, match="dead had ended with 3"):
            http._ended_well(server)


def test_the_fuzzer_sees_a_traceback(tmp_path):
    program = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("KeyError: 1\\nlistening on http://127.0.0.1:9", file=sys.stderr, flush=True)
signal.pause()
"""
    with (
        http.running([sys.executable, "-c", program], tmp_path / "bad.log") as server,
        pytest.raises(Fell, match="1 bad"),
    ):
        http._ended_well(server)


@pytest.mark.parametrize(
    "line", ["Traceback (most recent call last):", "fake decoder: a bug, while serving", "KeyError: 1"]
)
def test_what_is_a_bug_in_a_log(line):
    assert http._BUGS.search(line)


def test_what_is_none():
    assert not http._BUGS.search("0.00.1 E srv    send_error: task id = 3, error: request (9 tokens) exceeds")
