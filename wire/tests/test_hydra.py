"""Hydra frames: the protocol text's own bytes, any chunking, cut at every byte, limits before memory."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.errors import LocalWireError, RemoteWireError
from wire.hydra import (
    Op,
    RequestHead,
    ResponseHead,
    Status,
    encode_request,
    encode_request_head,
    encode_response,
    encode_response_head,
    maybe_slot,
    slot_key,
)
from wire.hydra_stream import FrameEnd, PayloadChunk, RequestDecoder, ResponseDecoder

META_REQUEST = bytes.fromhex("59483200010000000000000000000200307431")
META_ANSWER_HEAD = bytes.fromhex("000d00000000000000000000")

requests = st.builds(
    lambda op, key, trace, payload: (op, key, trace, payload),
    st.integers(0, 255),
    st.binary(max_size=12),
    st.binary(max_size=20),
    st.binary(max_size=40),
)


def fed(decoder, data, size):
    events = []
    for at in range(0, len(data), size):
        events += decoder.receive(data[at : at + size])
        while more := decoder.receive(b""):
            events += more
    return events


def frames(events):
    """Heads with their whole payloads; what has no `FrameEnd` is not a frame."""
    whole, head, payload = [], None, b""
    for event in events:
        match event:
            case PayloadChunk(data):
                payload += data
            case FrameEnd():
                whole.append((head, payload))
                head, payload = None, b""
            case _:
                head = event
    return whole


def test_the_request_of_the_protocol_text_both_ways():
    assert encode_request(Op.STATE_META, key=b"0", trace=b"t1") == META_REQUEST
    head = RequestHead(op=0x32, key=b"0", trace=b"t1", payload_len=0, flags=0)
    assert RequestDecoder().receive(META_REQUEST) == [head, FrameEnd()]


def test_the_answer_head_of_the_protocol_text_both_ways():
    meta = b'{"slot_id":0}'
    assert encode_response(Status.OK, meta=meta) == META_ANSWER_HEAD + meta
    assert ResponseDecoder().receive(META_ANSWER_HEAD + meta) == [ResponseHead(0, meta, 0), FrameEnd()]


@given(st.lists(requests, max_size=4), st.integers(1, 90))
def test_any_chunking_gives_the_same_requests(sent, size):
    data = b"".join(encode_request(op, key=key, trace=trace, payload=payload) for op, key, trace, payload in sent)
    decoder = RequestDecoder()
    expected = [(RequestHead(op, key, trace, len(payload)), payload) for op, key, trace, payload in sent]
    assert frames(fed(decoder, data, size)) == expected
    decoder.close()


answers = st.tuples(st.integers(0, 255), st.binary(max_size=30), st.binary(max_size=40))


@given(st.lists(answers, max_size=4), st.integers(1, 90))
def test_any_chunking_gives_the_same_answers(sent, size):
    data = b"".join(encode_response(status, meta=meta, payload=payload) for status, meta, payload in sent)
    decoder = ResponseDecoder()
    expected = [(ResponseHead(status, meta, len(payload)), payload) for status, meta, payload in sent]
    assert frames(fed(decoder, data, size)) == expected
    assert decoder.idle


@pytest.mark.parametrize("make", [RequestDecoder, ResponseDecoder])
def test_a_cut_at_every_byte_is_an_error(make):
    data = (
        encode_request(Op.PREFILL, key=b"3", trace=b"abc", payload=b"{}")
        if make is RequestDecoder
        else encode_response(Status.OK, meta=b"{}", payload=b"kv")
    )
    for end in range(1, len(data)):
        decoder = make()
        decoder.receive(data[:end])
        assert not decoder.idle
        with pytest.raises(RemoteWireError):
            decoder.close()


@pytest.mark.parametrize("start", [b"\x48\x59", b"\x59\x49", b"\x0e", b"GET / HTTP/1.1", b"\x00" * 16])
def test_a_wrong_magic_is_refused_at_its_first_wrong_byte(start):
    with pytest.raises(RemoteWireError, match="59 48"):
        RequestDecoder().receive(start)


def test_text_behind_an_answer_is_seen_before_the_next_request():
    """The unframed error text of a failed STATE_GET: nothing announced it, so the connection must not be reused."""
    decoder = ResponseDecoder()
    events = decoder.receive(encode_response(Status.NOT_FOUND) + b"invalid slot ID")
    assert events == [ResponseHead(Status.NOT_FOUND), FrameEnd()]
    assert not decoder.idle
    with pytest.raises(RemoteWireError, match="bytes of meta"):
        decoder.receive(b"")


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"\x00" + b"\xff\xff\xff" + bytes(8), "16777215 bytes of meta"),
        (b"\x00" + bytes(3) + (2**63).to_bytes(8, "little"), "9223372036854775808 bytes of payload"),
        (b"\x00" + bytes(3) + (5 * 1024**3).to_bytes(8, "little"), "5368709120 bytes of payload"),
    ],
)
def test_huge_lengths_are_refused_before_memory_is_taken(data, named):
    tracemalloc.start()
    with pytest.raises(RemoteWireError, match=named):
        ResponseDecoder().receive(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_a_payload_of_gigabytes_is_passed_on_and_not_kept():
    decoder = RequestDecoder()
    decoder.receive(encode_request_head(RequestHead(Op.STATE_PUT, b"0", b"", 3 * 1024**3)))
    chunk = bytes(1024 * 1024)
    tracemalloc.start()
    for _ in range(64):
        assert decoder.receive(chunk) == [PayloadChunk(chunk)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(chunk)


@pytest.mark.parametrize(
    "head",
    [
        RequestHead(op=256),
        RequestHead(op=-1),
        RequestHead(op=1, key=b"k" * 65_536),
        RequestHead(op=1, trace=b"t" * 65_536),
        RequestHead(op=1, payload_len=2**64),
        RequestHead(op=1, flags=256),
    ],
)
def test_a_request_that_the_frame_has_no_room_for_is_ours_to_blame(head):
    with pytest.raises(LocalWireError):
        encode_request_head(head)


@pytest.mark.parametrize(
    "head", [ResponseHead(256), ResponseHead(0, b"m" * 0x1000000), ResponseHead(0, payload_len=-1)]
)
def test_an_answer_that_the_frame_has_no_room_for_is_ours_to_blame(head):
    with pytest.raises(LocalWireError):
        encode_response_head(head)


@pytest.mark.parametrize("key", [b"", b"-1", b"+1", b"1 ", b"0x1", b"one", "²".encode(), b"12345678901"])
def test_a_key_that_is_no_number_is_no_slot(key):
    assert maybe_slot(key) is None


@given(st.integers(0, 2**31 - 1))
def test_a_slot_id_survives_its_key(slot):
    assert maybe_slot(slot_key(slot)) == slot


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_junk_gives_values_or_the_peers_error_and_nothing_else(data):
    for decoder in (RequestDecoder(), ResponseDecoder()):
        try:
            decoder.receive(data)
            decoder.close()
        except RemoteWireError:
            pass
