"""The client: OpenAI requests over HTTP, with the times at which things arrived.

Every failure of the connection becomes part of the reply. It knows nothing of what a reply should be.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from harness.record import Reply, Timings, TokenChoice
from harness.scenario import Endpoint, RequestSpec
from wire.errors import WireError
from wire.sse import DONE, SseDecoder, SseEvent

REPLY_BYTES = 64 << 20


Turns = tuple[tuple[str, str], ...]
"""What was said before in a conversation: pairs of a prompt and its reply."""


def request_body(spec: RequestSpec, prompt: str, before: Turns = ()) -> dict[str, Any]:
    """The body that a client sends for a request of a scenario. Greedy; the scenario's own fields win."""
    asked: dict[str, Any] = {"model": "kvgate", "temperature": 0, "stream": spec.stream}
    if spec.endpoint is Endpoint.CHAT:
        said = [message for asked, replied in before for message in (_user(asked), _assistant(replied))]
        asked["messages"] = [*said, _user(prompt)]
    else:
        asked["prompt"] = "".join(asked + replied for asked, replied in before) + prompt
    if spec.max_tokens is not None:
        asked["max_tokens"] = spec.max_tokens
    if spec.logprobs is not None:
        asked |= {"logprobs": True, "top_logprobs": spec.logprobs}
        if spec.endpoint is Endpoint.COMPLETIONS:
            asked |= {"logprobs": spec.logprobs}
            del asked["top_logprobs"]
    return asked | dict(spec.body)


def _user(content: str) -> dict[str, str]:
    return {"role": "user", "content": content}


def _assistant(content: str) -> dict[str, str]:
    return {"role": "assistant", "content": content}


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it goes out. A body that is no bytes goes out as JSON, None as none at all."""

    path: str
    body: Any
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes | None:
        return self.body if self.body is None or isinstance(self.body, bytes) else json.dumps(self.body).encode()


async def ask(http: aiohttp.ClientSession, url: str, body: Mapping[str, Any], deadline_s: float) -> Reply:
    """One request and everything that came back, with times; whatever goes wrong is in the reply."""
    return await exchange(http, url, Sent("", body), deadline_s, asyncio.Event())


async def exchange(
    http: aiohttp.ClientSession, url: str, sent: Sent, deadline_s: float, leaving: asyncio.Event
) -> Reply:
    """The same for any request. When it is cancelled while `leaving` is set, the client has left."""
    reading = _Reading()
    headers = {"Content-Type": "application/json", **sent.headers}
    try:
        async with (
            asyncio.timeout(deadline_s),
            http.request(sent.method, url + sent.path, data=sent.data, headers=headers) as response,
        ):
            await reading.take(response)
    except asyncio.CancelledError:
        if not leaving.is_set():
            raise
        reading.failure = "the client left"
    except TimeoutError:
        reading.failure = f"no whole reply within {deadline_s:g} s"
    except (aiohttp.ClientError, OSError) as error:
        reading.failure = f"the connection failed: {type(error).__name__}: {error}"
    except WireError as error:
        reading.failure = f"the reply's framing is broken: {error}"
    return reading.reply()


@dataclass(slots=True)
class _Reading:
    """A reply as it comes in."""

    sent_ns: int = field(default_factory=time.monotonic_ns)
    first_byte_ns: int | None = None
    end_ns: int | None = None
    token_ns: list[int] = field(default_factory=list)
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytearray = field(default_factory=bytearray)
    frames: list[Any] = field(default_factory=list)
    comments: int = 0
    done: bool = False
    failure: str = ""

    async def take(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        is_stream = response.content_type == "text/event-stream"
        events = SseDecoder() if is_stream else None
        async for chunk in response.content.iter_any():
            now = time.monotonic_ns()
            self.first_byte_ns = self.first_byte_ns or now
            if events is not None:
                self._take_events(events, chunk, now)
                continue
            self.raw += chunk
            if len(self.raw) > REPLY_BYTES:
                self.failure = f"the reply is larger than {REPLY_BYTES >> 20} MiB"
                return
        self.end_ns = time.monotonic_ns()
        if events is not None:
            events.close()

    def _take_events(self, events: SseDecoder, chunk: bytes, now: int) -> None:
        for event in events.receive(chunk):
            if not isinstance(event, SseEvent):
                self.comments += 1
            elif event.data == DONE:
                self.done = True
            else:
                self._take_frame(event.data, now)

    def _take_frame(self, data: bytes, now: int) -> None:
        try:
            frame = json.loads(data)
        except ValueError:
            self.failure = f"a frame is no JSON: {data[:80]!r}"
            return
        self.frames.append(frame)
        if _piece(frame):
            self.token_ns.append(now)

    def reply(self) -> Reply:
        whole = self.frames if self.frames else [self._json()]
        choices = [choice for frame in whole for choice in _choices(frame)]
        told = next((frame for frame in whole if isinstance(frame, dict) and "error" in frame), None)
        return Reply(
            timings=Timings(self.sent_ns, self.first_byte_ns, tuple(self.token_ns), self.end_ns),
            status=self.status,
            headers=self.headers,
            text="".join(_choice_text(choice) for choice in choices if choice.get("index", 0) == 0),
            finish_reason=next((c["finish_reason"] for c in choices if c.get("finish_reason")), None),
            error=_error_text(told) if told is not None else self._plain_error(),
            error_type=_error_type(told) if told is not None else None,
            failure=self.failure or self._cut(),
            streamed=bool(self.frames) or self.done,
            frames=len(self.frames),
            comments=self.comments,
            done=self.done,
            usage=_last(whole, "usage"),
            server_timings=_last(whole, "timings"),
            choices=tuple(token for choice in choices for token in _tokens(choice)),
            body=None if self.frames else self._json(),
        )

    def _json(self) -> Any:
        try:
            return json.loads(bytes(self.raw))
        except ValueError:
            return None

    def _plain_error(self) -> str:
        """The body of an error that is no JSON, cut to what can be shown."""
        failed = self.status is not None and self.status >= 400
        return bytes(self.raw[:300]).decode(errors="replace").strip() if failed and self._json() is None else ""

    def _cut(self) -> str:
        """A stream of the OpenAI form ends with `[DONE]` or with an error frame; anything else was cut."""
        errored = any(isinstance(frame, dict) and "error" in frame for frame in self.frames)
        return "the stream ended without [DONE]" if self.frames and not self.done and not errored else ""


def _choices(frame: Any) -> list[dict[str, Any]]:
    found = frame.get("choices") if isinstance(frame, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _choice_text(choice: Mapping[str, Any]) -> str:
    inner = choice.get("delta") or choice.get("message") or {}
    text = choice.get("text") if "text" in choice else inner.get("content")
    return text if isinstance(text, str) else ""


def _piece(frame: Any) -> str:
    return "".join(_choice_text(choice) for choice in _choices(frame))


def _last(frames: list[Any], key: str) -> dict[str, Any]:
    found = (frame[key] for frame in reversed(frames) if isinstance(frame, dict) and isinstance(frame.get(key), dict))
    return next(found, {})


def _error_text(frame: Mapping[str, Any]) -> str:
    error = frame["error"]
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _error_type(frame: Mapping[str, Any]) -> str | None:
    error = frame["error"]
    return error.get("type") if isinstance(error, dict) else None


def _tokens(choice: Mapping[str, Any]) -> list[TokenChoice]:
    listed = choice.get("logprobs")
    content = listed.get("content") if isinstance(listed, dict) else None
    return [_token(each) for each in content or [] if isinstance(each, dict)]


def _token(entry: Mapping[str, Any]) -> TokenChoice:
    tops = [top["logprob"] for top in entry.get("top_logprobs") or () if isinstance(top.get("logprob"), int | float)]
    tops.sort(reverse=True)
    margin = tops[0] - tops[1] if len(tops) > 1 else None
    return TokenChoice(entry.get("id"), str(entry.get("token", "")), margin)
