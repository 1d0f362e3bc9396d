"""The router's own codecs on whatever there is: any JSON body, any bytes, replies of any framing cut anywhere."""

import json
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.errors import CutOff, Refusal
from router.http1 import ReplyReader
from router.request_body import Endpoint, read_request, surely_shorter, text_of, why_not

SETTINGS = settings(deadline=None)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(["prompt", "messages", "n", "stream", "cache_prompt", "max_tokens", "id_slot", "x"])
BODIES = st.dictionaries(NAMES, JSON)
ENDPOINTS = st.sampled_from(list(Endpoint))
SPACE = st.text(" \t\r\n", max_size=3)


@SETTINGS
@given(ENDPOINTS, BODIES, st.sampled_from([None, 0, 2]), SPACE, SPACE)
def test_added_fields_win_and_nothing_else_changes(endpoint, body, indent, before, after):
    raw = (before + json.dumps(body, indent=indent) + after).encode()
    if body.get("id_slot") is not None:
        with pytest.raises(Refusal, match="id_slot"):
            read_request(endpoint, raw)
        return
    request = read_request(endpoint, raw)
    assert request.with_fields({}) == raw
    for added in ({"id_slot": 1}, {"id_slot": 0, "cache_prompt": True}):
        assert json.loads(request.with_fields(added)) == body | added


@SETTINGS
@given(ENDPOINTS, BODIES, st.integers(0, 50))
def test_any_body_is_judged_without_an_error(endpoint, body, n_tokens):
    request = read_request(endpoint, json.dumps({**body, "id_slot": None}).encode())
    if why_not(request) is None:
        assert isinstance(text_of(request), bytes)
    assert isinstance(surely_shorter(request, n_tokens), bool)


@SETTINGS
@given(ENDPOINTS, st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_refusal(endpoint, raw):
    with suppress(Refusal):
        assert isinstance(read_request(endpoint, raw).body, dict)


@SETTINGS
@given(ENDPOINTS, st.sampled_from([b"[", b'{"a":']), st.integers(1, 50_000))
def test_no_depth_is_more_than_a_refusal(endpoint, opening, depth):
    with pytest.raises(Refusal):
        read_request(endpoint, b'{"prompt":' + opening * depth)


@st.composite
def replies(draw):
    """The bytes of a reply and its body: with its length, or in chunks."""
    body, head = draw(st.binary(max_size=60)), b"HTTP/1.1 200 OK\r\n"
    if draw(st.booleans()):
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, body
    cuts = sorted({0, len(body), *draw(st.lists(st.integers(0, len(body)), max_size=4))})
    parts = [body[start:end] for start, end in pairwise(cuts)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n", body


@SETTINGS
@given(replies(), st.integers(1, 40))
def test_a_reply_has_its_body_at_any_chunking_and_ends_with_it(reply, size):
    raw, body = reply
    reader, found = ReplyReader(), b""
    for at in range(0, len(raw), size):
        found += reader.receive(raw[at : at + size])
    assert (found, reader.ended) == (body, True)
    reader.close()


@SETTINGS
@given(st.binary(max_size=200), st.booleans(), st.integers(1, 40))
def test_any_bytes_of_a_peer_are_a_reply_or_cut_off(data, begun, size):
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data if begun else data
    reader = ReplyReader()
    with suppress(CutOff):
        for at in range(0, len(raw), size):
            reader.receive(raw[at : at + size])
        reader.close()
