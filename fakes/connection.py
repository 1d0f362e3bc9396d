"""One HTTP connection: bytes to requests, a handler's effects to bytes, one request after the other.

Knows nothing of what is served: a handler is a generator, and this carries out what it asks for. The only waits
are the loop's own: a signal, a timer, a drained buffer, a share that is sent.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from fakes.api_error import ApiError
from fakes.builds import Build
from fakes.effects import Await, ClientGone, CutConnection, Flow, Pause, Reply, SendShare, Sent, StartStream, Write
from fakes.http1 import CONTINUE, LAST_CHUNK, Request, RequestDecoder, chunk
from fakes.responses import ANY_ORIGIN, GARBAGE, KEEP_ALIVE_S, REQUESTS_PER_CONNECTION, plain_response, stream_head
from fakes.sending import Sender, reset, when_flushed
from fakes.share_socket import send_share
from fakes.steps import Halt, Sending, Welcome
from fakes.waits import Waits
from wire.errors import RemoteWireError
from wire.sse import encode_comment, encode_event

Serve = Callable[[Request], Flow]
_PING = chunk(encode_comment())
_USUAL = Build(stream_closes=False)


class Connection(asyncio.Protocol):
    """`serve` makes the flow of a request, `after` is called whenever a flow has been driven a step.

    `accepted` says what is done with it when it has come in, `build` how it ends, `origins` who may be told of answers.
    """

    def __init__(
        self,
        serve: Serve,
        after: Callable[[], None],
        *,
        fds: list[int],
        on_gone: Callable[[Request], None],
        everyone: set[Connection],
        accepted: Callable[[], Welcome] | None = None,
        build: Build = _USUAL,
        origins: str = ANY_ORIGIN,
    ) -> None:
        self._serve = serve
        self._after = after
        self._fds = fds
        self._on_gone = on_gone
        self._everyone = everyone
        self._accepted = accepted
        self._build = build
        self._origins = origins
        self._loop = asyncio.get_running_loop()
        self._decoder = RequestDecoder()
        self._queue: deque[Request] = deque()
        self._transport: asyncio.Transport | None = None
        self._request: Request | None = None
        self._flow: Flow | None = None
        self._step = 0
        self._waits = Waits()
        self._served = 0
        self._streaming = False
        self._ping_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ping: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._idle_since = self._loop.time()
        self._sharing: asyncio.Task[Sent] | None = None
        self._late: set[asyncio.Task[Sent]] = set()
        self._gone = False
        self._paused = False
        self._waits_for_drain = False
        self._sender: Sender | None = None
        self._closes_after = False
        self._deaf = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._everyone.add(self)
        welcome = Welcome.SERVE if self._accepted is None else self._accepted()
        if welcome is Welcome.SERVE:
            self._arm_idle(KEEP_ALIVE_S)
            return
        self._deaf = True
        if welcome is not Welcome.HOLD:
            self._cut(CutConnection(reset=welcome is Welcome.RESET))

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        try:
            arrived = self._decoder.receive(data)
            self._queue += arrived[:1] if self._build.loses_pipelined else arrived
        except RemoteWireError:
            self._refuse()
            return
        if self._decoder.wants_continue:
            self._decoder.wants_continue = False
            self._write(CONTINUE)
        if self._flow is None:
            self._next()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._waits_for_drain:
            self._waits_for_drain = False
            self._resume_soon(self._step)

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._everyone.discard(self)
        self._cancel_timers()
        if self._sender is not None:
            self._sender.stop()
        if self._idle is not None:
            self._idle.cancel()
        if self._flow is not None and self._sharing is None:
            assert self._request is not None
            self._on_gone(self._request)
            self._drive(error=ClientGone())

    def abort(self) -> None:
        """Cut the connection where it stands."""
        if self._transport is not None:
            self._transport.abort()

    def reset(self) -> None:
        """Cut the connection where it stands, and say so to the peer."""
        if self._transport is not None:
            reset(self._transport)

    def _refuse(self) -> None:
        if self._flow is None:
            self._write(GARBAGE)
        self._end_in_error()

    def _next(self) -> None:
        if not self._queue or self._gone or self._sender is not None:
            return
        self._request = self._queue.popleft()
        self._served += 1
        self._streaming = False
        self._flow = self._serve(self._request)
        self._drive()

    def _drive(self, value: Any = None, error: Exception | None = None) -> None:
        """Run the flow until it waits or ends. Whatever is no answer of its own cuts the connection, visibly."""
        self._step += 1
        ended = False
        try:
            ended = self._run(value, error)
        except ApiError as refused:
            self._error(refused)
            ended = True
        except ClientGone:
            self._flow = None
            ended = True
        except CutConnection as cut:
            self._flow = None
            ended = True
            self._cut(cut)
        else:
            ended = True
        finally:
            if not ended:
                self._flow = None
                print(f"fake decoder: a bug, while serving {self._request}", file=sys.stderr)
                self.abort()
            self._after()
        if self._flow is None:
            self._next()

    def _run(self, value: Any, error: Exception | None) -> bool:
        flow = self._flow
        assert flow is not None
        while True:
            try:
                effect = flow.send(value) if error is None else flow.throw(error)
            except StopIteration as stop:
                self._finish(stop.value)
                return True
            value, error = None, None
            if self._gone and not isinstance(effect, SendShare):
                error = ClientGone()
            elif isinstance(effect, Write):
                self._write(b"".join(map(chunk, effect.events)))
                if self._paused:
                    self._waits_for_drain = True
                    return True
            elif isinstance(effect, StartStream):
                self._start_stream(effect)
            elif not self._suspended(effect):
                continue
            else:
                self._arm_ping()
                return True

    def _suspended(self, effect: Await | Pause | SendShare) -> bool:
        """Whether the flow has to wait for it."""
        if isinstance(effect, Await):
            if effect.signal.is_set:
                return False
            effect.signal.on_set(partial(self._resume_soon, self._step))
            if effect.seconds is not None:
                self._timer = self._loop.call_later(effect.seconds, self._resume, self._step)
        elif isinstance(effect, Pause):
            self._timer = self._loop.call_later(self._waits.delay(effect.seconds), self._resume, self._step)
        elif effect.message.after_reply:
            self._loop.call_later(effect.message.late_s, self._share_later, effect)
            return False
        else:
            self._sharing = self._loop.create_task(send_share(effect.path, effect.message, self._fds))
            self._sharing.add_done_callback(self._shared)
        return True

    def _share_later(self, effect: SendShare) -> None:
        task = self._loop.create_task(send_share(effect.path, effect.message, self._fds))
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    def _resume_soon(self, step: int) -> None:
        self._loop.call_soon(self._resume, step)

    def _resume(self, step: int) -> None:
        """Go on, unless something else has driven the flow since."""
        if self._flow is not None and step == self._step:
            self._cancel_timers()
            self._drive()

    def _shared(self, task: asyncio.Task[Sent]) -> None:
        self._sharing = None
        if task.cancelled() or self._flow is None:
            return
        self._cancel_timers()
        self._drive(task.result())

    def _start_stream(self, start: StartStream) -> None:
        assert self._request is not None
        self._streaming = True
        self._ping_s = start.ping_s
        self._send_as(start.sending)
        self._write(stream_head(self._request, start, close=self._closes(200), origins=self._origins))

    def _finish(self, reply: Reply | object) -> None:
        assert self._request is not None
        self._flow = None
        if isinstance(reply, Reply):
            close = self._closes(reply.status)
            self._send_as(reply.sending)
            self._write(plain_response(self._request, reply, close=close, origins=self._origins))
        else:
            close = self._closes(200) or self._build.stream_closes
            self._write(LAST_CHUNK)
        self._idle_since = self._loop.time()
        if self._sender is not None:
            self._closes_after = close
            self._sender.end()
        elif isinstance(reply, Reply) and reply.status >= 400:
            self._end_in_error()
        elif close:
            self._close()

    def _send_as(self, sending: Sending | None) -> None:
        """Send the answer that begins now in this way."""
        if sending is not None and self._transport is not None:
            self._closes_after = False
            self._sender = Sender(self._transport, sending, self._sent)

    def _sent(self, halted: Halt | None) -> None:
        """All of an answer is out that was not sent at once, or all that ever will be."""
        if halted is Halt.STALL:
            return  # until the client leaves
        self._sender = None
        if halted is not None:
            self._cut(CutConnection(reset=halted is Halt.RESET))
        elif self._closes_after:
            self._close()
        else:
            self._next()

    def _cut(self, cut: CutConnection) -> None:
        self._deaf = True
        if cut.reset and self._transport is not None:
            self._queue.clear()
            transport = self._transport
            when_flushed(transport, lambda: reset(transport))
        else:
            self._close()

    def _error(self, refused: ApiError) -> None:
        if not self._streaming:
            self._finish(Reply(refused.status, refused.body))
            return
        self._write(chunk(encode_event(refused.body)))
        self._finish(None)

    def _closes(self, status: int) -> bool:
        assert self._request is not None
        return status >= 400 or not self._request.keep_alive or self._served >= REQUESTS_PER_CONNECTION

    def _write(self, data: bytes) -> None:
        if self._sender is not None:
            self._sender.write(data)
        elif self._transport is not None and not self._gone:
            self._transport.write(data)

    def _end_in_error(self) -> None:
        """Close, as soon as this build does."""
        if self._build.closes_late and not self._deaf:
            self._deaf = True
            self._queue.clear()
            self._loop.call_later(KEEP_ALIVE_S, self._close)
        else:
            self._close()

    def _close(self) -> None:
        self._queue.clear()
        if self._transport is not None:
            self._transport.close()

    def _arm_ping(self) -> None:
        if self._streaming and self._ping_s is not None:
            self._ping = self._loop.call_later(self._ping_s, self._send_ping)

    def _send_ping(self) -> None:
        self._write(_PING)
        self._arm_ping()

    def _arm_idle(self, seconds: float) -> None:
        self._idle = self._loop.call_later(seconds, self._check_idle)

    def _check_idle(self) -> None:
        passed = self._loop.time() - self._idle_since
        if self._flow is not None or passed < KEEP_ALIVE_S:
            self._arm_idle(KEEP_ALIVE_S if self._flow is not None else KEEP_ALIVE_S - passed)
        else:
            self._close()

    def _cancel_timers(self) -> None:
        for timer in (self._timer, self._ping):
            if timer is not None:
                timer.cancel()
        self._timer = self._ping = None
