"""HTTP/1.1 replies out of bytes: head, body in pieces as they come, end. The router's side of a decoder's connection.

Pure, no sockets. Lengths are limits before they are believed; a body that ends before its end is an error and never
an end. Takes what llama-server and the proxies before it send: Content-Length, chunked, or until the connection
closes; interim replies are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from router.errors import CutOff

MAX_HEAD_BYTES = 64 << 10
MAX_LINE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers, names in lower case; of a name that comes twice the values are joined by a comma."""

    status: int
    headers: Mapping[str, str]
    may_reuse: bool
    """Whether the peer said that the connection may carry another request."""


class _Body(Enum):
    NONE = auto()
    SIZED = auto()
    CHUNK_SIZE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILER = auto()
    UNTIL_CLOSE = auto()


class ReplyReader:
    """Reads one reply to one request that is no HEAD. CutOff: the peer broke the protocol or the connection."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._state = _Body.NONE
        self._left = 0
        self.head: Head | None = None
        self.ended = False

    def receive(self, data: bytes) -> bytes:
        """The body's bytes that `data` brings; `head` and `ended` tell the rest."""
        if self.ended:
            if data:
                raise CutOff(f"{len(data)} bytes came after the reply")
            return b""
        if self._state is _Body.SIZED and not self._buffer and len(data) < self._left:
            self._left -= len(data)
            return data
        self._buffer += data
        if self.head is None and not self._read_head():
            return b""
        parts: list[bytes] = []
        while not self.ended and self._step(parts):
            pass
        if self.ended and self._buffer:
            raise CutOff(f"{len(self._buffer)} bytes came after the reply")
        return b"".join(parts)

    def close(self) -> None:
        """The connection ended. CutOff unless the reply was whole by then."""
        if self._state is _Body.UNTIL_CLOSE:
            self.ended = True
        if self.ended:
            return
        if self.head is None:
            said = f" after {len(self._buffer)} bytes" if self._buffer else ""
            raise CutOff(f"connection closed without an answer{said}")
        raise CutOff("connection closed in the middle of the answer")

    def _read_head(self) -> bool:
        """Whether the head is there; interim heads before it are dropped."""
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if max(end, len(self._buffer) if end < 0 else 0) > MAX_HEAD_BYTES:
                raise CutOff(f"an answer's head of more than {MAX_HEAD_BYTES} bytes")
            if end < 0:
                return False
            raw = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            version, status, headers = _parse_head(raw)
            if not 100 <= status < 200:
                self._begin_body(version, status, headers)
                return True

    def _begin_body(self, version: bytes, status: int, headers: dict[str, str]) -> None:
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if status in (204, 304):
            self._state, self.ended = _Body.NONE, True
        elif coding is not None:
            if coding.strip().lower() != "chunked" or length is not None:
                raise CutOff(f"an answer with transfer encoding {coding[:60]!r} and length {length!r}")
            self._state = _Body.CHUNK_SIZE
        elif length is not None:
            if not (length.isascii() and length.isdecimal()) or len(length) > 18:
                raise CutOff(f"an answer of length {length[:60]!r}")
            self._state, self._left = _Body.SIZED, int(length)
            self.ended = self._left == 0
        else:
            self._state = _Body.UNTIL_CLOSE
        connection = {word.strip().lower() for word in headers.get("connection", "").split(",")}
        lasting = "close" not in connection and (version == b"HTTP/1.1" or "keep-alive" in connection)
        self.head = Head(status, headers, lasting and self._state is not _Body.UNTIL_CLOSE)

    def _step(self, parts: list[bytes]) -> bool:
        """One step of the body; whether there may be another."""
        match self._state:
            case _Body.SIZED | _Body.CHUNK:
                return self._take_sized(parts)
            case _Body.UNTIL_CLOSE:
                parts.append(bytes(self._buffer))
                self._buffer.clear()
                return False
            case _:
                return self._take_line()

    def _take_sized(self, parts: list[bytes]) -> bool:
        part = bytes(self._buffer[: self._left])
        if not part:
            return False
        del self._buffer[: len(part)]
        self._left -= len(part)
        parts.append(part)
        if self._left:
            return False
        if self._state is _Body.SIZED:
            self.ended = True
        else:
            self._state = _Body.CHUNK_END
        return True

    def _take_line(self) -> bool:
        end = self._buffer.find(b"\n")
        if max(end, len(self._buffer) if end < 0 else 0) > MAX_LINE_BYTES:
            raise CutOff("an answer's chunk whose first line does not end")
        if end < 0:
            return False
        line = bytes(self._buffer[:end]).rstrip(b"\r")
        del self._buffer[: end + 1]
        if self._state is _Body.CHUNK_SIZE:
            self._left = _chunk_size(line)
            self._state = _Body.CHUNK if self._left else _Body.TRAILER
        elif self._state is _Body.CHUNK_END:
            if line:
                raise CutOff(f"an answer's chunk is longer than it said: {line[:40]!r}")
            self._state = _Body.CHUNK_SIZE
        elif not line:
            self.ended = True
        return True


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise CutOff(f"an answer's chunk of size {line[:40]!r}")
    return int(digits, 16)


def _parse_head(raw: bytes) -> tuple[bytes, int, dict[str, str]]:
    first, *lines = raw.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    code = rest[:3]
    if not version.startswith(b"HTTP/1.") or len(code) != 3 or not code.isdigit():
        raise CutOff(f"no HTTP answer but {first[:60]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip():
            raise CutOff(f"no header but {line[:60]!r}")
        key, text = name.decode("latin-1").lower(), value.strip().decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return version, int(code), headers


def encode_request(method: str, target: str, host: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """A request with its body, in one piece."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    return head + body if body is not None else head
