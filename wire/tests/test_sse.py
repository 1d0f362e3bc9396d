"""Event streams: bytes of a real server, any chunking, cuts, junk, and the encoder."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import LocalWireError, RemoteWireError
from wire.sse import DONE, SseComment, SseDecoder, SseEvent, encode_comment, encode_event

CAPTURED = Path(__file__).parent / "captured"
MIXED = b": warm\n\ndata: one\ndata: two\r\n\r\n:\n\nevent: x\nid: 7\ndata:three\n\ndata: [DONE]\n\n"
MIXED_VALUES = [
    SseComment(b"warm"),
    SseEvent(b"one\ntwo"),
    SseComment(b""),
    SseEvent(b"three"),
    SseEvent(DONE),
]


def decode(data: bytes, size: int) -> list[SseEvent | SseComment]:
    decoder = SseDecoder()
    found: list[SseEvent | SseComment] = []
    for at in range(0, len(data), size):
        found += decoder.receive(data[at : at + size])
    decoder.close()
    return found


@pytest.mark.parametrize("size", [1, 2, 7, len(MIXED)])
def test_any_chunking_gives_the_same_values(size):
    assert decode(MIXED, size) == MIXED_VALUES


def test_a_cut_inside_an_event_is_an_error_at_every_byte():
    event = b"data: {}\r\n\r\n"
    for cut in range(1, len(event)):
        decoder = SseDecoder()
        decoder.receive(event[:cut])
        assert decoder.pending > 0
        with pytest.raises(RemoteWireError, match="cut"):
            decoder.close()


@pytest.mark.parametrize(
    "junk", [b'{"error": 1}\n', b"error: {}\n\n", b"\x00\xff\n", b"HTTP/1.1 200 OK\r\n", b"datum: 1\n"]
)
def test_a_line_that_is_no_field_is_an_error(junk):
    with pytest.raises(RemoteWireError, match="not an event-stream line"):
        SseDecoder().receive(b"data: ok\n\n" + junk)


def test_bytes_after_the_close_are_our_own_error():
    decoder = SseDecoder()
    decoder.close()
    with pytest.raises(LocalWireError):
        decoder.receive(b"data: late\n\n")


@pytest.mark.parametrize("data", [b"data: " + b"x" * 100, b"data: x\n" * 20, b"x" * 100])
def test_an_event_beyond_the_limit_is_refused_before_it_is_kept(data):
    decoder = SseDecoder(max_event_bytes=64)
    with pytest.raises(RemoteWireError, match="more than 64 bytes"):
        decoder.receive(data)


def test_many_small_events_together_may_be_larger_than_the_limit():
    assert len(SseDecoder(max_event_bytes=64).receive(b"data: x\n\n" * 50)) == 50


def contents(name: str) -> list[str]:
    events = decode((CAPTURED / name).read_bytes(), 13)
    frames = [json.loads(event.data) for event in events if isinstance(event, SseEvent) and event.data != DONE]
    if name == "completion.sse":
        return [frame["content"] for frame in frames]
    return [choice["delta"].get("content") for frame in frames for choice in frame["choices"]]


def test_the_streams_of_a_real_server_decode_to_what_it_said():
    assert contents("completion.sse") == [" can", " be", " affected", ""]
    assert contents("chat.sse") == [None, "The", " river", " that", None]
    assert contents("chat_usage.sse") == [None, "The", " river", " that", None]


def test_a_real_chat_stream_ends_with_done_and_a_native_one_does_not():
    assert decode((CAPTURED / "chat.sse").read_bytes(), 64)[-1] == SseEvent(DONE)
    last = decode((CAPTURED / "completion.sse").read_bytes(), 64)[-1]
    assert isinstance(last, SseEvent)
    assert json.loads(last.data)["stop"] is True


def test_encoding_a_real_servers_events_again_gives_its_bytes():
    for name in ("completion.sse", "chat.sse", "chat_usage.sse"):
        data = (CAPTURED / name).read_bytes()
        assert b"".join(encode_event(event.data) for event in decode(data, len(data))) == data


@given(st.lists(st.binary().filter(lambda data: b"\r" not in data), max_size=5), st.integers(1, 9))
def test_encoded_events_decode_to_themselves(payloads, size):
    data = b"".join(map(encode_event, payloads))
    assert decode(data, size) == [SseEvent(payload) for payload in payloads]


@given(st.binary(max_size=200), st.integers(1, 20))
def test_no_bytes_raise_anything_but_a_wire_error(data, size):
    decoder = SseDecoder(max_event_bytes=100)
    try:
        for at in range(0, len(data), size):
            decoder.receive(data[at : at + size])
        decoder.close()
    except RemoteWireError:
        pass


def test_a_ping_is_three_bytes():
    assert encode_comment() == b":\n\n"
    assert decode(encode_comment(b"hi"), 1) == [SseComment(b"hi")]


@pytest.mark.parametrize(("encode", "text"), [(encode_event, b"a\rb"), (encode_comment, b"a\nb")])
def test_what_would_break_the_framing_is_our_own_error(encode, text):
    with pytest.raises(LocalWireError):
        encode(text)


LINE_ENDS = st.sampled_from([b"\n", b"\r\n"])
PLAIN = st.binary(max_size=12).filter(lambda data: b"\r" not in data and b"\n" not in data)


@st.composite
def streams(draw):
    """The bytes of a stream, and what they say: events of several lines, comments between them, silent fields."""
    data, said = b"", []
    for _ in range(draw(st.integers(0, 5))):
        lines, payload = b"", []
        for kind in draw(st.lists(st.sampled_from(["data", "comment", "silent"]), min_size=1, max_size=4)):
            text, end = draw(PLAIN), draw(LINE_ENDS)
            if kind == "data":
                payload.append(text)
                lines += b"data: " + text + end
            elif kind == "comment":
                said.append(SseComment(text))
                lines += b": " + text + end
            else:
                lines += draw(st.sampled_from([b"event", b"id", b"retry"])) + b":" + text + end
        data += lines + draw(LINE_ENDS)
        said += [SseEvent(b"\n".join(payload))] if payload else []
    return data, said


@given(streams(), st.lists(st.integers(0, 300), max_size=8))
def test_a_stream_says_the_same_wherever_it_is_cut(stream, cuts):
    data, said = stream
    decoder, found = SseDecoder(), []
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, end in pairwise(places):
        found += decoder.receive(data[start:end])
    decoder.close()
    assert found == said


@given(st.integers(1, 80), st.integers(1, 80), st.integers(1, 20))
def test_a_limit_is_kept_or_passed_however_the_event_is_cut(length, limit, size):
    data = encode_event(b"x" * length)
    decoder = SseDecoder(max_event_bytes=limit)
    try:
        for at in range(0, len(data), size):
            decoder.receive(data[at : at + size])
    except RemoteWireError:
        assert length + len(b"data: ") + 1 > limit
    else:
        assert length + len(b"data: ") <= limit


@given(st.binary(max_size=20))
def test_a_comment_comes_back_or_is_our_own_error(text):
    try:
        data = encode_comment(text)
    except LocalWireError:
        assert b"\n" in text or b"\r" in text
    else:
        assert decode(data, 3) == [SseComment(text)]
