"""One llama-server as the router uses it: a method for each endpoint, bytes and statuses out, no judgement.

Knows nothing of routes or slots' owners. Every call has its deadline; what goes wrong is `Unreachable` (it has seen
nothing), `CutOff` or `NoAnswer` (it may have done what was asked). Nothing is repeated here.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from multidict import CIMultiDictProxy
from yarl import URL

from router.errors import CutOff, NoAnswer, Unreachable

CONNECT_TIMEOUT_S = 5.0
IDLE_CONNECTION_S = 2.0
"""llama-server closes an idle connection after 5 s; ours is gone long before, so that no request meets its end."""
MAX_ANSWER_BYTES = 64 << 20

_JSON = {"Content-Type": "application/json"}


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

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: CIMultiDictProxy[str] = response.headers

    async def chunk(self, seconds: float) -> bytes:
        """The next bytes as they come; empty at the end of a whole body."""
        with _told(seconds, "the decoder"):
            async with asyncio.timeout(seconds):
                return await self._response.content.readany()

    async def rest(self, seconds: float) -> bytes:
        """The whole body."""
        parts, size = [], 0
        with _told(seconds, "the decoder"):
            async with asyncio.timeout(seconds):
                while part := await self._response.content.readany():
                    parts.append(part)
                    size += len(part)
                    if size > MAX_ANSWER_BYTES:
                        raise CutOff(f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        return b"".join(parts)


class DecoderClient:
    """A keep-alive pool for one base URL."""

    def __init__(self, url: str, key: str | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.url = url
        self._base = URL(url)
        self._headers = {**_JSON, "Authorization": f"Bearer {key}"} if key is not None else _JSON
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def health(self, seconds: float) -> Answer:
        return await self._call("GET", "/health", None, seconds)

    async def props(self, seconds: float) -> Answer:
        return await self._call("GET", "/props", None, seconds)

    async def models(self, seconds: float) -> Answer:
        return await self._call("GET", "/v1/models", None, seconds)

    async def slots(self, seconds: float) -> Answer:
        return await self._call("GET", "/slots", None, seconds)

    async def no_action(self, seconds: float) -> Answer:
        """A slot action that does not exist: 400 where actions are served, 501 where they are not."""
        return await self._call("POST", "/slots/0?action=none", b"{}", seconds)

    async def apply_template(self, body: bytes, seconds: float) -> Answer:
        return await self._call("POST", "/apply-template", body, seconds)

    async def tokenize(self, content: object, seconds: float) -> Answer:
        body = json.dumps({"content": content, "add_special": True, "parse_special": True}).encode()
        return await self._call("POST", "/tokenize", body, seconds)

    async def share(self, slot: int, socket_path: str, n_tokens: int, seconds: float) -> Answer:
        return await self._action(slot, "share", {"socket": socket_path, "n_tokens": n_tokens}, seconds)

    async def adopt(self, slot: int, share_id: str, tokens: tuple[int, ...], seconds: float) -> Answer:
        return await self._action(slot, "adopt", {"share_id": share_id, "tokens": tokens}, seconds)

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
        response = await self._send("POST", path, body, seconds)
        try:
            yield Upstream(response)
        finally:
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _action(self, slot: int, action: str, body: dict[str, object], seconds: float) -> Answer:
        return await self._call("POST", f"/slots/{slot}?action={action}", json.dumps(body).encode(), seconds)

    async def _call(self, method: str, path: str, body: bytes | None, seconds: float) -> Answer:
        with _told(seconds, path):
            async with asyncio.timeout(seconds):
                response = await self._send(method, path, body, seconds)
                try:
                    upstream = Upstream(response)
                    return Answer(response.status, response.headers, await upstream.rest(seconds))
                finally:
                    if response.content.at_eof():
                        response.release()
                    else:
                        response.close()

    async def _send(self, method: str, path: str, body: bytes | None, seconds: float) -> aiohttp.ClientResponse:
        session = self._session
        if session is None:
            session = self._session = self._new_session()
        with _told(seconds, path):
            async with asyncio.timeout(seconds):
                return await session.request(method, self._url(path), data=body, headers=self._headers)

    def _url(self, path: str) -> URL:
        return self._base.join(URL(path, encoded=True))

    def _new_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0, force_close=True, ssl=self._tls if self._tls is not None else True
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
            max_line_size=16384,
            max_field_size=16384,
        )


class _told:
    """Tells what went wrong in the tree of `router.errors`."""

    __slots__ = ("_seconds", "_what")

    def __init__(self, seconds: float, what: str) -> None:
        self._seconds = seconds
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            raise Unreachable(_reason(error)) from None
        if isinstance(error, TimeoutError):
            raise NoAnswer(f"{self._what} did not answer within {self._seconds:g} s") from None
        if isinstance(error, aiohttp.ClientError | OSError):
            raise CutOff(_reason(error)) from None


def _reason(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.strerror:
        return error.os_error.strerror.lower()
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "connection closed without an answer"
    return str(error) or type(error).__name__
