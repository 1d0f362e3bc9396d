"""Faults of HTTP, transport and streams, seen as bytes on a socket: what each does, and that the rest stays."""

import json

import pytest

from fakes.tests.raw import request, send
from fakes.tests.running import running

PROMPT = [{"role": "user", "content": "tell me of the river"}]
BODY = {"messages": PROMPT, "max_tokens": 6, "id_slot": 0, "cache_prompt": False}
CHAT = "/v1/chat/completions"
TOKENIZE = request("POST", "/tokenize", {"content": "the river"})
STREAM = request("POST", CHAT, BODY | {"stream": True})
HEALTH = request("GET", "/health")
N_EVENTS = 9  # the opening one, six tokens, the finish, the end mark
HEAD_END = b"\r\n\r\n"


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    with running(tmp_path_factory.mktemp("d")) as one:
        yield one


@pytest.fixture(autouse=True)
def _clean(decoder):
    yield
    decoder.control("POST", "/reset")


def arm(decoder, setting):
    assert "faults" in decoder.control("POST", "/faults", {"set": [setting]})


def fired(decoder, setting):
    return decoder.control("GET", "/state")["faults"][setting.partition("=")[0].partition(",")[0]]["fired"]


def is_refusal(got):
    return got.how == "close" and "error" in got.json


WHOLE = {
    "http-status": lambda got, _: got.status == 503 and is_refusal(got) and got.header("retry-after") is None,
    "http-status=429:7": lambda got, _: got.status == 429 and is_refusal(got) and got.header("retry-after") == "7",
    "http-hang": lambda got, _: got.how == "open" and not got.data,
    "http-drop": lambda got, _: got.how == "reset" and not got.data,
    "http-drop=close": lambda got, _: got.how == "close" and not got.data,
    "http-late=250": lambda got, honest: got.data == honest.data and got.seconds >= 0.25,
    "http-wedged": lambda got, _: got.how == "open" and not got.data,
    "reply-content-type": lambda got, honest: got.header("content-type") == "text/plain" and got.body == honest.body,
    "reply-length-more": lambda got, honest: (
        int(got.header("content-length")) == len(honest.body) + 100 and got.body == honest.body and got.how == "close"
    ),
    "reply-length-less": lambda got, honest: (
        int(got.header("content-length")) == len(honest.body) - 1 and got.body == honest.body
    ),
    "reply-huge-headers": lambda got, honest: len(got.head) > 16384 and got.json == honest.json,
    "reply-half-body": lambda got, honest: (
        got.header("content-length") == str(len(honest.body)) and got.body == honest.body[: len(honest.body) // 2]
    ),
    "reply-half-json": lambda got, honest: (
        got.header("content-length") == str(len(got.body)) and got.body == honest.body[: len(honest.body) // 2]
    ),
    "reply-no-json": lambda got, _: got.status == 200 and got.body.startswith(b"<html>"),
    "reply-empty": lambda got, _: got.status == 200 and got.header("content-length") == "0" and not got.body,
    "reply-other-json": lambda got, _: got.status == 200 and got.json == [],
    "connect-hold": lambda got, _: got.how == "open" and not got.data,
    "connect-drop": lambda got, _: got.how == "reset" and not got.data,
    "connect-drop=close": lambda got, _: got.how in ("close", "reset") and not got.data,
    "send-reset=60": lambda got, honest: got.how == "reset" and got.data == honest.data[:60],
    "send-reset=0": lambda got, _: got.how == "reset" and not got.data,
    "send-close=60": lambda got, honest: got.how == "close" and got.data == honest.data[:60],
    "send-close=99999": lambda got, honest: got.how == "close" and got.data == honest.data,
    "send-stall=60": lambda got, honest: got.how == "open" and got.data == honest.data[:60],
    "send-drip": lambda got, honest: got.data == honest.data and len(got.pieces) > len(honest.data) // 2,
    "send-slow-head": lambda got, honest: (
        got.data == honest.data and 3 < len(got.pieces) <= len(got.head) + 5  # a busy reader gets several at once
    ),
    "send-bandwidth=1000": lambda got, honest: got.data == honest.data and len(got.pieces) > 5,
    "send-pieces": lambda got, honest: got.data == honest.data and len(got.pieces) > len(honest.data) // 14,
}
STREAMED = {
    "stream-cut": lambda got, honest: len(got.events) == 3 and got.how == "close" and not got.ended,
    "stream-cut=99": lambda got, honest: got.events == honest.events and got.how == "close" and not got.ended,
    "stream-reset": lambda got, honest: len(got.events) == 3 and got.how == "reset",
    "stream-stall": lambda got, honest: len(got.events) == 3 and got.how == "open",
    "stream-stall=0": lambda got, honest: got.status == 200 and not got.events and got.how == "open",
    "stream-tidy-end": lambda got, honest: got.events == honest.events[:3] and got.ended,
    "stream-no-end-mark": lambda got, honest: got.events == honest.events[:-1] and got.ended,
    "stream-double-end-mark": lambda got, honest: got.events == [*honest.events, b"data: [DONE]"],
    "stream-malformed": lambda got, honest: (
        len(got.events) == N_EVENTS + 1 and not is_json(got.events[3]) and got.text == honest.text
    ),
    "stream-unknown-event": lambda got, honest: b"telemetry" in got.events[3] and got.text == honest.text,
    "stream-error": lambda got, honest: (
        len(got.events) == 4 and b'"the compute graph failed"' in got.events[3] and got.ended
    ),
    "stream-recompute": lambda got, honest: b"recomputed" in got.events[3] and len(got.events) == 5 and got.ended,
    "stream-split-character": lambda got, honest: (
        got.text == honest.text and any(chunk.endswith(b"\xc3") for chunk in got.chunks) and got.ended
    ),
    "stream-comments=2": lambda got, honest: (
        got.text == honest.text and b"".join(got.chunks).count(b": keep") == 2 * N_EVENTS
    ),
    "stream-only-comments": lambda got, honest: got.how == "open" or len(got.chunks) > 20,
    "stream-empty-deltas=2": lambda got, honest: (
        got.text == honest.text and len(got.events) == N_EVENTS + 2 * (N_EVENTS - 1)
    ),
    "stream-slow=20": lambda got, honest: got.text == honest.text and got.seconds > 0.02 * (N_EVENTS - 1),
    "stream-one-chunk": lambda got, honest: got.events == honest.events and len(got.chunks) == 2,
    "stream-line-ends": lambda got, honest: (
        got.events == honest.events and b"".join(got.chunks).count(b"\r\n\r\n") == N_EVENTS
    ),
    "stream-line-ends=cr": lambda got, honest: got.events == honest.events and b"\n" not in b"".join(got.chunks),
    "stream-content-type": lambda got, honest: got.header("content-type") == "text/plain" and got.text == honest.text,
    "send-close=400": lambda got, honest: len(got.data) == 400 and got.how == "close" and not got.ended,
    "send-reset=400": lambda got, honest: len(got.data) == 400 and got.how == "reset",
    "send-gathered": lambda got, honest: got.events == honest.events and len(got.pieces) == 1,
    "send-pieces=3": lambda got, honest: got.events == honest.events and len(got.pieces) > 100,
}
TESTED = {setting.partition("=")[0] for setting in (*WHOLE, *STREAMED)} | {"connect-refuse"}


def is_json(frame):
    try:
        json.loads(frame.partition(b"data: ")[2])
    except ValueError:
        return False
    return True


def stable(got):
    """The text of an honest answer, whose ids and times differ each time."""
    return got.status, got.how, got.text if got.header("transfer-encoding") else got.body


def tries(decoder, setting, data):
    """What came before, at, and after the only time that the fault is to fire."""
    arm(decoder, f"{setting},only=2")
    before = send(decoder, data)
    at = send(decoder, data, 2.0 if "-slow" in setting or "late" in setting else 0.4)
    after = send(decoder, data)
    assert fired(decoder, setting) == 1
    return before, at, after


@pytest.mark.parametrize("setting", WHOLE)
def test_it_does_that_to_an_answer_and_the_ones_before_and_after_are_whole(decoder, setting):
    honest = send(decoder, TOKENIZE)
    before, at, after = tries(decoder, setting, TOKENIZE)
    assert WHOLE[setting](at, honest), at
    assert stable(before) == stable(after) == stable(honest)


@pytest.mark.parametrize("setting", STREAMED)
def test_it_does_that_to_a_stream_and_the_ones_before_and_after_are_whole(decoder, setting):
    honest = send(decoder, STREAM)
    assert len(honest.events) == N_EVENTS
    before, at, after = tries(decoder, setting, STREAM)
    assert STREAMED[setting](Face(at), Face(honest)), at
    assert stable(before) == stable(after) == stable(honest)
    assert honest.text


class Face:
    """An answer whose events are compared without what differs each time."""

    def __init__(self, got):
        self._got = got

    def __getattr__(self, name):
        return getattr(self._got, name)

    @property
    def events(self):
        return [plain(frame) for frame in self._got.events]


def plain(frame):
    head, data, text = frame.partition(b"data: ")
    if not is_json(frame):
        return frame
    value = json.loads(text)
    for name in ("id", "created", "timings"):
        value.pop(name, None)
    return head + data + json.dumps(value).encode()


@pytest.mark.parametrize("setting", [*WHOLE, *STREAMED])
def test_a_request_that_it_is_not_meant_for_is_left_alone(decoder, setting):
    if setting.startswith("connect"):  # a connection is for no request yet
        refused = decoder.control("POST", "/faults", {"set": [f"{setting},op=completion"]})
        assert "meets no request at decoder.accept" in refused["error"]["message"]
        return
    arm(decoder, f"{setting},op=completion,slot=1")
    assert stable(send(decoder, TOKENIZE)) == stable(send(decoder, TOKENIZE))
    assert send(decoder, STREAM).text
    assert send(decoder, HEALTH).json == {"status": "ok"}
    assert fired(decoder, setting) == 0


def test_a_wedged_decoder_says_that_it_is_well(decoder):
    arm(decoder, "http-wedged")
    assert send(decoder, HEALTH).json == {"status": "ok"}
    assert send(decoder, request("GET", "/props")).status == 200
    assert send(decoder, request("GET", "/slots")).how == "open"


def test_a_port_that_refuses_while_the_fault_is_on_and_takes_connections_after(decoder):
    arm(decoder, "connect-refuse")
    assert send(decoder, HEALTH).how == "refused"
    decoder.control("POST", "/faults", {"clear": ["connect-refuse"]})
    assert send(decoder, HEALTH).status == 200


def test_a_stalled_stream_keeps_its_slot_until_its_client_leaves(decoder):
    arm(decoder, "stream-stall=2")
    first = send(decoder, STREAM)
    assert first.how == "open"
    decoder.control("POST", "/faults", {"clear": True})
    assert send(decoder, STREAM).text


def test_bytes_that_are_cut_are_the_only_thing_that_is_lost(decoder):
    arm(decoder, "send-pieces=1,op=completion")
    got = send(decoder, request("POST", CHAT, BODY), 2.0)
    assert got.json["choices"][0]["finish_reason"] == "length"
