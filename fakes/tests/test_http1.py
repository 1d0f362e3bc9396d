"""Requests out of bytes: any chunking, cuts, junk, limits, and the forms a client may choose."""

import http.client
import io
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.effects import Reply, StartStream
from fakes.http1 import MAX_BODY_BYTES, RequestDecoder, chunk
from fakes.responses import plain_response, stream_head
from wire.errors import RemoteWireError

ONE = b"POST /slots/1?action=save&x=a%20b+c HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nX-Api-Key:  k \r\n\r\nbody"
LAST = b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n"
TWO = ONE + LAST
CHUNKED = (
    b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n"
)


def decode(data: bytes, size: int):
    decoder, found = RequestDecoder(), []
    for at in range(0, len(data), size):
        found += decoder.receive(data[at : at + size])
    decoder.close()
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_any_chunking_gives_the_same_requests(size):
    first, second = decode(TWO, size)
    assert (first.method, first.path, first.body, first.keep_alive) == ("POST", "/slots/1", b"body", True)
    assert first.query == {"action": "save", "x": "a b c"}
    assert first.headers["x-api-key"] == "k"
    assert (second.method, second.path, second.keep_alive) == ("GET", "/health", False)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_chunked_body_is_put_together(size):
    first, second = decode(CHUNKED + LAST, size)
    assert first.body == b"abc0123456789"
    assert second.path == "/health"


@pytest.mark.parametrize("whole", [ONE, CHUNKED], ids=["plain", "chunked"])
def test_every_cut_is_an_error(whole):
    for cut in range(1, len(whole)):
        decoder = RequestDecoder()
        assert decoder.receive(whole[:cut]) == []
        with pytest.raises(RemoteWireError, match="cut"):
            decoder.close()


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00",
        b"hello\r\n",
        b"GET /\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"get / HTTP/1.1\r\n\r\n",
        b"GET x HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1 x\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFF\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000,
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0;" + b"x" * 2000,
    ],
    ids=range(17),
)
def test_junk_is_an_error(junk):
    with pytest.raises(RemoteWireError):
        RequestDecoder().receive(junk)


def test_a_client_that_waits_for_a_continue_is_seen():
    decoder = RequestDecoder()
    assert decoder.receive(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n") == []
    assert decoder.wants_continue
    assert decoder.receive(b"ok")[0].body == b"ok"
    assert not decoder.wants_continue


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [("1.1", None, True), ("1.1", "close", False), ("1.0", None, False), ("1.0", "Keep-Alive", True)],
)
def test_who_keeps_the_connection(version, connection, keeps):
    header = f"Connection: {connection}\r\n" if connection else ""
    assert decode(f"GET / HTTP/{version}\r\n{header}\r\n".encode(), 99)[0].keep_alive is keeps


@given(st.binary(max_size=300), st.integers(1, 50))
def test_no_bytes_raise_anything_but_a_wire_error(data, size):
    decoder = RequestDecoder()
    try:
        for at in range(0, len(data), size):
            decoder.receive(data[at : at + size])
        decoder.close()
    except RemoteWireError:
        pass


class _Socket(io.BytesIO):
    def makefile(self, *_):
        return self


def parsed(data: bytes) -> http.client.HTTPResponse:
    """As the standard library reads it."""
    response = http.client.HTTPResponse(_Socket(data))  # type: ignore[arg-type]
    response.begin()
    return response


def test_a_response_is_read_by_the_standard_library_and_has_the_servers_headers_in_order():
    request = decode(b"GET / HTTP/1.1\r\nOrigin: http://a\r\n\r\n", 99)[0]
    response = parsed(plain_response(request, Reply(200, b"{}"), close=False))
    assert response.read() == b"{}"
    assert response.getheaders() == [
        ("Server", "llama.cpp"),
        ("Access-Control-Allow-Origin", "http://a"),
        ("Content-Type", "application/json; charset=utf-8"),
        ("Content-Length", "2"),
        ("Keep-Alive", "timeout=5, max=100"),
    ]
    assert parsed(plain_response(request, Reply(404, b"{}"), close=True)).getheaders()[-1] == ("Connection", "close")


def test_a_stream_is_read_by_the_standard_library():
    request = decode(b"GET / HTTP/1.1\r\n\r\n", 99)[0]
    data = (
        stream_head(request, StartStream(), close=False) + chunk(b"data: 1\n\n") + chunk(b"data: 2\n\n") + b"0\r\n\r\n"
    )
    response = parsed(data)
    assert response.getheader("Content-Type") == "text/event-stream"
    assert response.read() == b"data: 1\n\ndata: 2\n\n"


def test_head_has_the_same_head_and_no_body():
    request = decode(b"HEAD / HTTP/1.1\r\n\r\n", 99)[0]
    data = plain_response(request, Reply(200, b"{}"), close=False)
    assert b"Content-Length: 2\r\n" in data
    assert data.endswith(b"\r\n\r\n")


BODY = st.binary(max_size=40)
PATHS = st.sampled_from(["/completion", "/slots/0", "/v1/stream", "/"])


@st.composite
def requests(draw):
    """The bytes of a request, its path, its query and its body, which comes whole or in chunks."""
    path, body, value = draw(PATHS), draw(BODY), draw(st.text(max_size=6))
    head = f"POST {path}?x={quote(value, safe='')} HTTP/1.1\r\n".encode()
    if draw(st.booleans()):
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, (path, {"x": value}, body)
    cuts = sorted({0, len(body), *draw(st.lists(st.integers(0, len(body)), max_size=3))})
    chunks = b"".join(chunk(body[start:end]) for start, end in pairwise(cuts))
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n", (path, {"x": value}, body)


@given(st.lists(requests(), min_size=1, max_size=4), st.integers(1, 60))
def test_requests_of_either_framing_decode_to_themselves_at_any_chunking(sent, size):
    found = decode(b"".join(data for data, _ in sent), size)
    assert [(each.path, dict(each.query), each.body) for each in found] == [said for _, said in sent]
