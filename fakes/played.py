"""A request while faults are armed or points held: what stands around the handler, and edits what it answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from fakes.api_error import ApiError
from fakes.deciding import Refused, carry_out, stall
from fakes.effects import (
    END_STREAM,
    ClientGone,
    CutConnection,
    Effect,
    EndStream,
    Flow,
    Pause,
    Reply,
    StartStream,
    Steps,
    Write,
)
from fakes.http1 import Request
from fakes.machine import Machine
from fakes.point import Point
from fakes.steps import Decision, Die, GivingUp, Go, Halt, Limits, Piece, Sending, StreamOut, Wait
from wire.sse import encode_event

S = TypeVar("S")
Outcome = Reply | EndStream


class _Tidy(Exception):
    """The stream's body ends here as HTTP has it."""


def played(machine: Machine, request: Request, honest: Callable[[], Flow]) -> Flow:
    """The request's flow with everything that faults and holds do to it."""
    sent: Outcome
    try:
        decision: Decision = yield from machine.passes(Point.REQUEST, Go(), request)
        yield from carry_out(decision, machine.meet)
        yield from _limits(machine, request)
        sent = yield from _Edited(machine, request).drive(honest())
    except ApiError as error:
        headers = error.headers if isinstance(error, Refused) else ()
        sent = Reply(error.status, error.body, headers=headers)
    if isinstance(sent, Reply):
        sent = yield from machine.passes(Point.RESPONSE, sent, request)
        sent = replace(sent, sending=(yield from _sending(machine, request)))
    return sent


def _limits(machine: Machine, request: Request) -> Steps:
    asked = machine.asked(request)
    if asked is not None and asked.op == "completion":
        limits = Limits(asked.number("min_tokens"), asked.number("max_tokens", "n_predict", "max_completion_tokens"))
        step = yield from machine.passes(Point.LIMITS, limits, request)
        yield from carry_out(step.decision, machine.meet)


def _sending(machine: Machine, request: Request) -> Generator[Effect, Any, Sending | None]:
    sending = yield from machine.passes(Point.SENDING, Sending(), request)
    if sending.late_s:
        yield Pause(sending.late_s)
    return None if sending == Sending(late_s=sending.late_s) else sending


class _Edited:
    """Drives a handler's flow: its stream goes out edited, its end may be ignored."""

    def __init__(self, machine: Machine, request: Request) -> None:
        self._machine = machine
        self._request = request
        self._out: StreamOut | None = None
        self._index = 0

    def drive(self, flow: Flow) -> Flow:
        """Everything the flow asks for is passed on, and its answers back to it."""
        value: Any = None
        effect: Effect = Pause(0)
        try:
            while True:
                try:
                    effect = flow.send(value)
                except StopIteration as stop:
                    yield from self._end()
                    ended: Outcome = stop.value
                    return ended
                except ApiError as error:
                    if self._out is None:
                        raise
                    yield from self._write([encode_event(error.body)])
                    return END_STREAM
                value = yield from self._pass(effect)
        except _Tidy:
            _give_up(flow)
            return END_STREAM
        except ClientGone:
            self._left(flow, effect)
            raise
        except BaseException:
            _give_up(flow)
            raise

    def _pass(self, effect: Effect) -> Generator[Effect, Any, Any]:
        if isinstance(effect, StartStream):
            yield from self._start(effect)
            return None
        if isinstance(effect, Write) and self._out is not None and self._out.edits:
            yield from self._write(effect.events)
            return None
        return (yield effect)

    def _start(self, start: StartStream) -> Steps:
        self._out = out = yield from self._machine.passes(Point.STREAM, StreamOut(), self._request)
        sending = yield from _sending(self._machine, self._request)
        ping_s = None if out.edits else start.ping_s
        yield replace(start, ping_s=ping_s, content_type=out.content_type, headers=out.headers, sending=sending)

    def _write(self, events: Iterable[bytes]) -> Steps:
        assert self._out is not None
        for data in events:
            pieces: Iterable[Piece] = (data,)
            for edit in self._out.edits:
                pieces = _edited(pieces, lambda one, edit=edit: edit.event(self._index, one))  # type: ignore[misc]
            yield from self._send(pieces)
            self._index += 1

    def _end(self) -> Steps:
        if self._out is not None:
            for edit in self._out.edits:
                yield from self._send(edit.end())

    def _send(self, pieces: Iterable[Piece]) -> Steps:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield Write([piece])
            elif isinstance(piece, Wait):
                yield Pause(piece.seconds)
            else:
                yield from self._halt(piece)

    def _halt(self, halt: Halt) -> Steps:
        match halt:
            case Halt.STALL:
                yield from stall()
            case Halt.TIDY:
                raise _Tidy
            case Halt.DIE:
                yield Pause(0.01)  # what was written has left the process by then
                self._machine.meet(Die())
        raise CutConnection(reset=halt is not Halt.CLOSE)

    def _left(self, flow: Flow, effect: Effect) -> None:
        """The handler is told that its client has gone, unless a fault has it work on for nobody."""
        step = self._machine.player.at(Point.GONE, GivingUp(), self._machine.asked(self._request))
        if step.gives_up:
            _give_up(flow)
        else:
            self._machine.orphan(flow, effect)


def _give_up(flow: Flow) -> None:
    with suppress(ClientGone, StopIteration, ApiError):
        flow.throw(ClientGone())


def _edited(pieces: Iterable[Piece], edit: Callable[[bytes], Iterable[Piece]]) -> Iterable[Piece]:
    for piece in pieces:
        if isinstance(piece, bytes):
            yield from edit(piece)
        else:
            yield piece
