"""One llama-server as the router uses it: a method for each endpoint, bytes and statuses out, no judgement.

Knows nothing of routes or slots' owners. Every call has its deadline; what goes wrong is `Unreachable` (it has seen
nothing), `CutOff` or `NoAnswer` (it may have done what was asked). Nothing is repeated here.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from router.connection import Connection, Pool
from router.errors import CutOff, NoAnswer
from router.http1 import encode_request

MAX_ANSWER_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json_object(self) -> dict[str, object] | None:
        """The body, if it is a JSON object."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class Upstream:
    """A reply whose head is there and whose body is still to come."""

    def __init__(self, connection: Connection, status: int, headers: Mapping[str, str]) -> None:
        self._connection = connection
        self.status = status
        self.headers = headers
        """Names in lower case."""

    async def chunk(self, seconds: float) -> bytes:
        """The next bytes as they come; empty at the end of a whole body."""
        try:
            async with asyncio.timeout(seconds):
                return await self._connection.chunk()
        except TimeoutError:
            raise NoAnswer(f"the answer stopped for {seconds:g} s") from None

    async def rest(self, seconds: float) -> bytes:
        """The whole body."""
        parts, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                while part := await self._connection.chunk():
                    parts.append(part)
                    size += len(part)
                    if size > MAX_ANSWER_BYTES:
                        raise CutOff(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        except TimeoutError:
            raise NoAnswer(f"the answer did not end within {seconds:g} s") from None
        return b"".join(parts)


class DecoderClient:
    """The endpoints of one base URL."""

    def __init__(self, url: str, key: str | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.url = url
        self._pool = Pool(url, tls)
        self._headers = {"Content-Type": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"

    def on_idle_closed(self, told: Callable[[], None]) -> None:
        """`told` is called when the server closes a connection that nobody uses: it may have ended."""
        self._pool.on_idle_closed = told

    async def health(self, seconds: float) -> Answer:
        return await self._call("GET", "/health", None, seconds)

    async def props(self, seconds: float) -> Answer:
        return await self._call("GET", "/props", None, seconds)

    async def models(self, seconds: float) -> Answer:
        return await self._call("GET", "/v1/models", None, seconds)

    async def slots(self, seconds: float) -> Answer:
        return await self._call("GET", "/slots", None, seconds)

    async def apply_template(self, body: bytes, seconds: float) -> Answer:
        return await self._call("POST", "/apply-template", body, seconds)

    async def tokenize(self, content: object, seconds: float) -> Answer:
        body = json.dumps({"content": content, "add_special": True, "parse_special": True}).encode()
        return await self._call("POST", "/tokenize", body, seconds)

    async def share(self, slot: int, socket_path: str, n_tokens: int, seconds: float) -> Answer:
        return await self._action(slot, "share", {"socket": socket_path, "n_tokens": n_tokens}, seconds)

    async def adopt(self, slot: int, share_id: str, tokens: tuple[int, ...], seconds: float) -> Answer:
        return await self._action(slot, "adopt", {"share_id": share_id, "tokens": tokens}, seconds)

    async def evaluate(self, slot: int, tokens: tuple[int, ...], seconds: float) -> Answer:
        """Has the slot hold these tokens and nothing else; a completion that is to be empty."""
        body = {"prompt": tokens, "n_predict": 0, "temperature": 0, "id_slot": slot, "cache_prompt": False}
        return await self._call("POST", "/completion", json.dumps(body).encode(), seconds)

    async def save(self, slot: int, filename: str, seconds: float) -> Answer:
        return await self._action(slot, "save", {"filename": filename}, seconds)

    async def restore(self, slot: int, filename: str, seconds: float) -> Answer:
        return await self._action(slot, "restore", {"filename": filename}, seconds)

    async def erase(self, slot: int, seconds: float) -> Answer:
        return await self._action(slot, "erase", {}, seconds)

    @asynccontextmanager
    async def completion(self, path: str, body: bytes, seconds: float) -> AsyncIterator[Upstream]:
        """The reply's head, within `seconds`. Leaving the block before the body's end closes the connection, which
        is how the decoder is told to stop."""
        connection = await self._pool.take()
        try:
            yield await self._ask(connection, "POST", path, body, seconds)
        finally:
            self._pool.give_back(connection)

    @asynccontextmanager
    async def stored(self, request_id: int, seconds: float, *, stream: bool) -> AsyncIterator[Upstream]:
        """What an engine has stored for an accepted DECODE so far, as a stream where one is wanted and there is one."""
        connection = await self._pool.take()
        accept = {"Accept": "text/event-stream"} if stream else {}
        try:
            yield await self._ask(connection, "GET", f"/v1/decode/{request_id}", None, seconds, accept)
        finally:
            self._pool.give_back(connection)

    async def cancel_stored(self, request_id: int, seconds: float) -> Answer:
        return await self._call("DELETE", f"/v1/decode/{request_id}", None, seconds)

    def close(self) -> None:
        self._pool.close()

    async def _action(self, slot: int, action: str, body: dict[str, object], seconds: float) -> Answer:
        return await self._call("POST", f"/slots/{slot}?action={action}", json.dumps(body).encode(), seconds)

    async def _call(self, method: str, path: str, body: bytes | None, seconds: float) -> Answer:
        connection = await self._pool.take()
        try:
            upstream = await self._ask(connection, method, path, body, seconds)
            return Answer(upstream.status, upstream.headers, await upstream.rest(seconds))
        finally:
            self._pool.give_back(connection)

    async def _ask(
        self,
        connection: Connection,
        method: str,
        path: str,
        body: bytes | None,
        seconds: float,
        headers: Mapping[str, str] | None = None,
    ) -> Upstream:
        headers = {**self._headers, **(headers or {})}
        connection.send(encode_request(method, path, self._pool.host_header, headers, body))
        try:
            async with asyncio.timeout(seconds):
                head = await connection.head()
        except TimeoutError:
            raise NoAnswer(f"no answer within {seconds:g} s") from None
        return Upstream(connection, head.status, head.headers)
