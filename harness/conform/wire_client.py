"""An HTTP/1.1 client that hides nothing: heads in their order, chunks as they were sent, the moment of a close.

For probes, which ask what a client library would rather not show. Every wait has a deadline.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from harness.deadline import within
from harness.errors import HarnessError
from wire.sse import SseComment, SseDecoder, SseEvent

DEADLINE_S = 20.0
_LIMIT = 1 << 24


class NoAnswer(HarnessError):
    """What came back is no HTTP answer, or there is none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `body` is sent as it is; None sends none."""

    method: str
    path: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def encoded(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body is not None and not any(name.lower() == "transfer-encoding" for name, _ in self.headers):
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + (self.body or b"")

    def under(self, prefix: str, headers: Mapping[str, str]) -> Ask:
        """The same below a path prefix and with more headers."""
        return Ask(self.method, prefix + self.path, self.body, (*self.headers, *headers.items()))


def get(path: str, **headers: str) -> Ask:
    return Ask("GET", path, None, _named(headers))


def post(path: str, body: Any = None, **headers: str) -> Ask:
    """A JSON body; bytes are sent as they are, None is an empty body."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Ask("POST", path, raw, _named(headers))


def _named(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name.replace("_", "-"), value) for name, value in headers.items())


@dataclass(slots=True)
class Answer:
    """One answer. `chunks` are the chunks of a chunked body, None for any other; `closes` is what its head says."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes = b""
    chunks: list[bytes] | None = None
    parsed: Any = field(default=None, repr=False)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.headers]

    @property
    def closes(self) -> bool:
        return (self.header("Connection") or "").lower() == "close"

    @property
    def json(self) -> Any:
        """NoAnswer where the body is no JSON."""
        if self.parsed is None:
            try:
                self.parsed = json.loads(self.body)
            except ValueError:
                raise NoAnswer(f"status {self.status} with a body that is no JSON: {self.body[:200]!r}") from None
        return self.parsed

    @property
    def frames(self) -> list[Any]:
        """The data of a stream's events, parsed; `[DONE]` stays text."""
        data = [each.data for each in SseDecoder().receive(self.body) if isinstance(each, SseEvent)]
        return [each.decode() if each == b"[DONE]" else json.loads(each) for each in data]

    @property
    def comments(self) -> int:
        return sum(isinstance(each, SseComment) for each in SseDecoder().receive(self.body))


class Talk:
    """One connection. `read_head` and `read_body` are there for whoever looks at an answer while it comes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.closed = False
        """Whether we have closed it."""

    @classmethod
    async def open(cls, url: str) -> Talk:
        parts = urlsplit(url)
        opening = asyncio.open_connection(parts.hostname, parts.port, limit=_LIMIT)
        return cls(*await within(DEADLINE_S, f"a connection to {url}", opening))

    async def __aenter__(self) -> Talk:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True
        self._writer.close()

    def half_close(self) -> None:
        self._writer.write_eof()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def ask(self, ask: Ask) -> Answer:
        await self.send(ask.encoded())
        return await self.answer(ask.method)

    async def answer(self, method: str = "GET") -> Answer:
        """The next whole answer; an informational one is an answer too."""
        answer = await self.read_head()
        if method != "HEAD" and answer.status >= 200:
            await self.read_body(answer)
        return answer

    async def read_head(self, seconds: float = DEADLINE_S) -> Answer:
        head = (await self._until(b"\r\n\r\n", "an answer's head", seconds))[:-4].decode("latin-1")
        first, *lines = head.split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise NoAnswer(f"no status line: {first[:100]!r}")
        pairs = [line.partition(":") for line in lines]
        return Answer(int(words[1]), [(name, value.strip()) for name, _, value in pairs])

    async def read_body(self, answer: Answer) -> None:
        if (answer.header("Transfer-Encoding") or "").lower() == "chunked":
            answer.chunks = []
            while (chunk := await self.chunk()) != b"":
                answer.chunks.append(chunk)
            answer.body = b"".join(answer.chunks)
        else:
            length = int(answer.header("Content-Length") or 0)
            answer.body = await self._whole(self._reader.readexactly(length), f"a body of {length} bytes")

    @property
    def buffered(self) -> int:
        """Bytes that have come and were not read."""
        return len(self._reader._buffer)  # type: ignore[attr-defined]

    async def chunk(self, seconds: float = DEADLINE_S) -> bytes:
        """The next chunk of a chunked body, empty for the last."""
        size = int(await self._until(b"\r\n", "a chunk's size", seconds), 16)
        data = await self._whole(self._reader.readexactly(size + 2), f"a chunk of {size} bytes")
        return data[:-2]

    async def ended(self, seconds: float = DEADLINE_S) -> bytes:
        """Whatever still comes until the peer closes. DeadlineMissed when it does not."""
        try:
            return await within(seconds, "the end of the connection", self._reader.read())
        except ConnectionError:
            return b""

    async def _until(self, end: bytes, what: str, seconds: float) -> bytes:
        return await self._whole(self._reader.readuntil(end), what, seconds)

    async def _whole(self, reading: Any, what: str, seconds: float = DEADLINE_S) -> bytes:
        try:
            return bytes(await within(seconds, what, reading))
        except asyncio.IncompleteReadError as cut:
            raise NoAnswer(f"the connection ended inside {what}, after {bytes(cut.partial)[:200]!r}") from None
        except (ConnectionError, ValueError) as error:
            raise NoAnswer(f"{what}: {error or type(error).__name__}") from None
