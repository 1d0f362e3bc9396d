"""The server's side of HTTP/1.1: bytes into requests, replies into bytes.

Written out rather than taken from a library, since a fake must own every byte it sends: llama-server's headers in
their order, and later the ways to get them wrong. Knows nothing of sockets or routes. Every length is checked
before it is believed; what is no request at all is answered 400 with an empty body and a close.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote

from wire.errors import RemoteWireError

MAX_HEAD_BYTES = 64 << 10
MAX_BODY_BYTES = 256 << 20
_MAX_CHUNK_LINE = 1024
_KNOWN_HEADS = 256
_MAX_KNOWN_BYTES = 2048
_METHOD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")

REASONS = {
    100: "Continue",
    200: "OK",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    413: "Payload Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(slots=True)
class Request:
    """One request. Header names are in lower case; `path` has no query; `body` is whole."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    keep_alive: bool
    body: bytes = b""


@dataclass(slots=True)
class _Head:
    request: Request
    length: int
    chunked: bool
    parts: list[bytes] = field(default_factory=list)
    body_bytes: int = 0


class RequestDecoder:
    """One connection's requests, however the network cut them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._scanned = 0
        self.wants_continue = False
        """A request waits for `100 Continue` before it sends its body; the caller answers and clears it."""

    @property
    def pending(self) -> int:
        """Bytes of a request that has not ended."""
        return len(self._buffer) + (0 if self._head is None else 1 + self._head.body_bytes)

    def receive(self, data: bytes) -> list[Request]:
        """The requests that `data` completes. RemoteWireError: this is no HTTP, or it is too much of it."""
        self._buffer += data
        found: list[Request] = []
        while self._buffer or self._head is not None:
            request = self._maybe_request()
            if request is None:
                break
            found.append(request)
        return found

    def close(self) -> None:
        """The peer closed. RemoteWireError if that cut a request short."""
        if self.pending:
            raise RemoteWireError(f"a request was cut with {self.pending} bytes of it received")

    def _maybe_request(self) -> Request | None:
        if self._head is None:
            self._head = self._maybe_head()
        head = self._head
        if head is None:
            return None
        whole = self._chunks(head) if head.chunked else self._plain(head)
        if not whole:
            return None
        head.request.body = b"".join(head.parts)
        self._head = None
        self.wants_continue = False
        return head.request

    def _maybe_head(self) -> _Head | None:
        end = self._buffer.find(b"\r\n\r\n", max(0, self._scanned - 3))
        if end < 0:
            self._scanned = len(self._buffer)
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise RemoteWireError(f"a request head of more than {MAX_HEAD_BYTES} bytes")
            self._refuse_garbage()
            return None
        if end > MAX_HEAD_BYTES:
            raise RemoteWireError(f"a request head of {end} bytes, more than {MAX_HEAD_BYTES}")
        head = _parse_head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        self._scanned = 0
        self.wants_continue = head.request.headers.get("expect", "").lower() == "100-continue"
        return head

    def _refuse_garbage(self) -> None:
        line, newline, _ = self._buffer[:256].partition(b"\n")
        if newline:
            _request_line(bytes(line.rstrip(b"\r")))
        elif line and not line[:1].isalpha():
            raise RemoteWireError(f"no request line: {bytes(line[:40])!r}")

    def _plain(self, head: _Head) -> bool:
        missing = head.length - head.body_bytes
        if missing:
            self._move(head, min(missing, len(self._buffer)))
        return head.body_bytes == head.length

    def _chunks(self, head: _Head) -> bool:
        """`head.length` is what is missing of the current chunk, its line end included; 0 before a chunk's line."""
        while True:
            if head.length > 2:
                taken = min(head.length - 2, len(self._buffer))
                self._move(head, taken)
                head.length -= taken
            if head.length > 2 or len(self._buffer) < head.length:
                return False
            if head.length and bytes(self._buffer[:2]) != b"\r\n":
                raise RemoteWireError("a chunk that does not end with its length")
            del self._buffer[: head.length]
            head.length = 0
            size = self._maybe_chunk_size()
            if size is None:
                return False
            if size == 0:
                return True
            if head.body_bytes + size > MAX_BODY_BYTES:
                raise RemoteWireError(f"a body of more than {MAX_BODY_BYTES} bytes")
            head.length = size + 2

    def _maybe_chunk_size(self) -> int | None:
        end = self._buffer.find(b"\r\n", 0, _MAX_CHUNK_LINE)
        if end < 0:
            if len(self._buffer) >= _MAX_CHUNK_LINE:
                raise RemoteWireError(f"a chunk line of more than {_MAX_CHUNK_LINE} bytes")
            return None
        digits = bytes(self._buffer[:end]).partition(b";")[0].strip()
        if not 1 <= len(digits) <= 8 or any(digit not in b"0123456789abcdefABCDEF" for digit in digits):
            raise RemoteWireError(f"a chunk size of {digits[:20]!r}")
        size = int(digits, 16)
        if size == 0:
            return self._end_of_trailers(end + 2)
        del self._buffer[: end + 2]
        return size

    def _end_of_trailers(self, start: int) -> int | None:
        at = start
        while True:
            end = self._buffer.find(b"\r\n", at)
            if end < 0:
                if len(self._buffer) - start > MAX_HEAD_BYTES:
                    raise RemoteWireError(f"trailers of more than {MAX_HEAD_BYTES} bytes")
                return None
            if end == at:
                del self._buffer[: end + 2]
                return 0
            at = end + 2

    def _move(self, head: _Head, count: int) -> None:
        if count:
            head.parts.append(bytes(self._buffer[:count]))
            head.body_bytes += count
            del self._buffer[:count]


def _request_line(line: bytes) -> tuple[str, str, bytes]:
    parts = line.split(b" ")
    if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise RemoteWireError(f"no request line: {line[:60]!r}")
    method, target, version = parts
    if not method or not _METHOD_CHARS.issuperset(method) or target[:1] not in (b"/", b"*"):
        raise RemoteWireError(f"no request line: {line[:60]!r}")
    return method.decode(), target.decode("latin-1"), version


def _parse_head(block: bytes) -> _Head:
    parsed = _parsed(block) if len(block) <= _MAX_KNOWN_BYTES else _parsed.__wrapped__(block)
    method, path, query, headers, keep_alive, length, chunked = parsed
    return _Head(Request(method, path, query, headers, keep_alive), length, chunked)


_Parsed = tuple[str, str, Mapping[str, str], Mapping[str, str], bool, int, bool]


@lru_cache(maxsize=_KNOWN_HEADS)
def _parsed(block: bytes) -> _Parsed:
    """A head's fields. Clients send the same head again and again, so the last ones are remembered."""
    first, _, rest = block.partition(b"\r\n")
    method, target, version = _request_line(first)
    headers: dict[str, str] = {}
    for line in rest.decode("latin-1").split("\r\n") if rest else ():
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise RemoteWireError(f"no header: {line[:60]!r}")
        headers[name.lower()] = value.strip()
    path, _, query = target.partition("?")
    chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    length = 0 if chunked else _content_length(headers)
    return method, unquote(path), _query(query), headers, _keeps_alive(version, headers), length, chunked


def _query(text: str) -> dict[str, str]:
    if not text:
        return {}
    pairs = [pair.partition("=") for pair in text.split("&")]
    return {unquote(name): unquote(value.replace("+", " ")) for name, _, value in pairs}


def _keeps_alive(version: bytes, headers: dict[str, str]) -> bool:
    wish = headers.get("connection", "").lower()
    return wish == "keep-alive" if version == b"HTTP/1.0" else wish != "close"


def _content_length(headers: dict[str, str]) -> int:
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise RemoteWireError(f"a Content-Length of {text[:40]!r}")
    length = int(text)
    if length > MAX_BODY_BYTES:
        raise RemoteWireError(f"a body of {length} bytes, allowed are {MAX_BODY_BYTES}")
    return length


def status_line(status: int) -> str:
    return f"HTTP/1.1 {status} {REASONS.get(status, 'Unknown')}\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)
