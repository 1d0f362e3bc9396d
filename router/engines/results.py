"""What became of an accepted DECODE: its stored result, waited for, read once, and cancelled when nobody wants it.

The early answer of a DECODE says nothing about the restore. The result is 202 while it loads, 404 "not ready" while
it generates, and 400 once where it failed; a stream of it may end without its end line.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from router.config import Timeouts
from router.deadline import Deadline, happens
from router.decoder_client import Answer, Upstream
from router.engines.engine import Engine
from router.errors import CutOff, DecoderError, NoAnswer, Unreachable
from router.one_line import one_line
from router.routes.choose import Outcome, Step, failed
from wire.errors import RemoteWireError
from wire.sse import DONE, SseDecoder, SseEvent, encode_event

FIRST_PAUSE_S = 0.002
LONGEST_PAUSE_S = 0.25
CANCEL_S = 5.0
MAX_EVENT_BYTES = 16 << 20
_EVENT_STREAM = "text/event-stream"
_NOT_READY = b"not ready"
CORRUPT = b"hash mismatch"


class EngineReply(Upstream):
    """A reply of an engine. A stream that is whole without its end line gets one; an end line alone is no reply."""

    def __init__(self, inner: Upstream) -> None:
        self._inner = inner
        self.status = inner.status
        self.headers = inner.headers
        self._streamed = inner.headers.get("content-type", "").startswith(_EVENT_STREAM) and inner.status < 400
        self._decoder = SseDecoder(MAX_EVENT_BYTES)
        self._held: deque[bytes] = deque()
        self._n_events = 0
        self._begun = self._finished = self._done = False

    async def begin(self, seconds: float) -> None:
        """Waits for the first event that says something. CutOff: there is none; NoAnswer: not in time."""
        if not self._streamed:
            return
        deadline = Deadline(seconds)
        while not self._begun:
            chunk = await self._receive(deadline.left())
            if not chunk:
                raise CutOff("the stream ended before its first event")
            self._held.append(chunk)

    async def chunk(self, seconds: float) -> bytes:
        return self._held.popleft() if self._held else await self._receive(seconds)

    async def rest(self, seconds: float) -> bytes:
        return await self._inner.rest(seconds)

    async def _receive(self, seconds: float) -> bytes:
        chunk = await self._inner.chunk(seconds)
        if not self._streamed:
            return chunk
        if not chunk and self._finished and not self._done:
            self._done = True
            return encode_event(DONE)
        try:
            for event in self._decoder.receive(chunk):
                if isinstance(event, SseEvent):
                    self._event(event.data)
        except RemoteWireError:
            self._begun = True
        return chunk

    def _event(self, data: bytes) -> None:
        self._n_events += 1
        if data == DONE:
            if self._n_events == 1:
                raise CutOff("the stream has an end line and no reply")
            self._done = True
        elif not (self._begun and b'"finish_reason"' not in data):
            says, ends = _read_event(data)
            self._begun = self._begun or says
            self._finished = self._finished or ends


def _read_event(data: bytes) -> tuple[bool, bool]:
    """Whether a chunk says something, and whether it names the reason why the reply ended."""
    try:
        value = json.loads(data)
        choice = value["choices"][0]
        ends = choice.get("finish_reason") is not None
        delta = choice.get("delta") or {}
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return True, False
    return ends or any(value for name, value in delta.items() if name != "role"), ends


class Stored:
    """The stored result of one DECODE, and its slot's way back: a cancellation before the erase."""

    def __init__(self, engine: Engine, request_id: int, slot: int, deadline: Deadline, timeouts: Timeouts) -> None:
        self._engine = engine
        self._request_id = request_id
        self._slot = slot
        self._deadline = deadline
        self._timeouts = timeouts
        self._left = AsyncExitStack()
        self._reply: EngineReply | None = None
        self.ended = False
        """The reply was read to its end, or the engine has said that there will be none."""

    @property
    def url(self) -> str:
        return self._engine.url

    @property
    def reply(self) -> EngineReply:
        assert self._reply is not None, "begin() was not waited for"
        return self._reply

    async def begin(self, *, stream: bool) -> None:
        """Waits until there is a reply to pass on. StepFailed: there will be none, or it does not come on."""
        silence_s = self._deadline.cut(self._timeouts.stream)
        watch = _Progress(self._engine, self._slot, self._deadline, silence_s)
        restored_by = Deadline(self._deadline.cut(self._timeouts.restore))
        pause_s = FIRST_PAUSE_S
        try:
            while not await self._found(stream, silence_s, restored_by):
                await watch.look()
                await happens(asyncio.Event(), pause_s)
                pause_s = min(pause_s * 1.25, LONGEST_PAUSE_S)
        except NoAnswer as error:
            raise failed(Step.RESULT, Outcome.TIMED_OUT, reason=str(error)) from None
        except (CutOff, Unreachable) as error:
            raise failed(Step.RESULT, Outcome.CUT_OFF, reason=str(error)) from None

    async def _found(self, stream: bool, silence_s: float, restored_by: Deadline) -> bool:
        """One read. False: there is nothing yet."""
        async with AsyncExitStack() as reading:
            upstream = await reading.enter_async_context(
                self._engine.http.stored(self._request_id, silence_s, stream=stream)
            )
            if upstream.status == 200:
                reply = EngineReply(upstream)
                await reply.begin(silence_s)
                self._reply, self._left = reply, reading.pop_all()
                return True
            body = await upstream.rest(silence_s)
        if upstream.status == 202 and restored_by.left() == 0:
            raise NoAnswer(f"was still loading after {self._timeouts.restore:g} s")
        if upstream.status == 202 or (upstream.status == 404 and _NOT_READY in body):
            return False
        self.ended = True
        if upstream.status == 404:
            raise failed(Step.RESULT, Outcome.GONE, body=one_line(body))
        if CORRUPT in body:
            raise failed(Step.RESULT, Outcome.CORRUPT, status=upstream.status, body=one_line(body))
        raise failed(Step.RESULT, Outcome.REFUSED, status=upstream.status, body=one_line(body))

    async def close(self) -> None:
        """Stops reading."""
        await self._left.aclose()

    async def cancel(self) -> None:
        """Tells the engine that nobody waits any more. Best done, and no harm where it is not."""
        if self.ended:
            return
        try:
            answer = await self._engine.http.cancel_stored(self._request_id, CANCEL_S)
            self.ended = answer.ok or answer.status == 404
        except DecoderError:
            return

    async def erase(self, slot: int, seconds: float) -> Answer:
        """As a janitor calls it: the DECODE is cancelled first, since its slot is busy as long as it runs."""
        await self.cancel()
        return await self._engine.erase(slot, seconds)


class _Progress:
    """Looks now and then at the slot's position: nothing else shows whether a reply that is not streamed comes on."""

    def __init__(self, engine: Engine, slot: int, deadline: Deadline, silence_s: float) -> None:
        self._engine = engine
        self._slot = slot
        self._deadline = deadline
        self._silence_s = silence_s
        self._pause_s = silence_s / 4
        self._next = Deadline(self._pause_s)
        self._stalled_at = Deadline(silence_s)
        self._seen: Mapping[str, Any] = {}

    async def look(self) -> None:
        """NoAnswer: it has stood still for too long."""
        if self._next.left() > 0:
            return
        self._next = Deadline(self._pause_s)
        seen = await self._position()
        if seen != self._seen:
            self._seen, self._stalled_at = seen, Deadline(self._silence_s)
        elif self._stalled_at.left() == 0:
            raise NoAnswer(f"did not come on for {self._silence_s:g} s")

    async def _position(self) -> Mapping[str, Any]:
        """Empty where the engine does not say."""
        try:
            async with self._engine.session("progress", self._deadline) as session:
                look = await self._engine.look(session, self._slot, self._deadline, info=False)
        except DecoderError:
            return {}
        return {} if look.slot is None else {"n_past": look.slot.n_past}
