"""Replies out of bytes, whatever the network did to them."""

import pytest

from router.errors import CutOff
from router.http1 import MAX_HEAD_BYTES, ReplyReader, encode_request

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=5, max=100\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\nX-T: 1\r\n\r\n"


def read(raw: bytes, size: int) -> tuple[ReplyReader, bytes]:
    reader = ReplyReader()
    body = b"".join(reader.receive(raw[at : at + size]) for at in range(0, len(raw), size))
    return reader, body


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
@pytest.mark.parametrize(("raw", "expected"), [(SIZED, b"hello"), (CHUNKED, b"hello world")])
def test_any_cut_gives_the_same_body(raw, expected, size):
    reader, body = read(raw, size)
    assert (body, reader.ended, reader.head.status, reader.head.may_reuse) == (expected, True, 200, True)


@pytest.mark.parametrize("raw", [SIZED, CHUNKED])
def test_a_reply_cut_at_any_byte_is_never_whole(raw):
    for end in range(len(raw)):
        reader, _ = read(raw[:end], 10_000)
        assert not reader.ended
        with pytest.raises(CutOff):
            reader.close()


def test_a_body_without_length_ends_with_the_connection_and_only_then():
    reader, body = read(b"HTTP/1.1 200 OK\r\n\r\nall of it", 3)
    assert (body, reader.ended, reader.head.may_reuse) == (b"all of it", False, False)
    reader.close()
    assert reader.ended


def test_interim_replies_are_skipped():
    reader, body = read(b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED, 4)
    assert (reader.head.status, body) == (200, b"hello")


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_some_statuses_have_no_body(status):
    reader, _ = read(b"HTTP/1.1 " + status + b"\r\nContent-Length: 9\r\n\r\n", 10_000)
    assert reader.ended


@pytest.mark.parametrize(
    ("headers", "version", "reuse"),
    [
        (b"Connection: close\r\n", b"1.1", False),
        (b"Connection: keep-alive\r\n", b"1.0", True),
        (b"", b"1.0", False),
        (b"connection: Upgrade, CLOSE\r\n", b"1.1", False),
    ],
)
def test_whether_the_connection_lasts(headers, version, reuse):
    reader, _ = read(b"HTTP/" + version + b" 200 OK\r\n" + headers + b"Content-Length: 0\r\n\r\n", 10_000)
    assert reader.head.may_reuse is reuse


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * (MAX_HEAD_BYTES + 10),
        SIZED + b"x",
    ],
    ids=range(15),
)
def test_junk_is_an_error(raw):
    with pytest.raises(CutOff):
        read(raw, 10_000)


def test_nothing_may_come_after_the_end():
    reader, _ = read(SIZED, 10_000)
    with pytest.raises(CutOff):
        reader.receive(b"x")


def test_a_request_is_one_piece_with_its_length():
    raw = encode_request("POST", "/slots/0?action=save", "h:1", {"A": "b"}, b"{}")
    assert raw == b"POST /slots/0?action=save HTTP/1.1\r\nHost: h:1\r\nA: b\r\nContent-Length: 2\r\n\r\n{}"
    assert b"Content-Length" not in encode_request("GET", "/health", "h", {}, None)
