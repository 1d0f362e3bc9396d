"""The events of a streamed chat completion, kept to the plan that a fault may have changed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from fakes.effects import Await, CutConnection, Signal, Write
from fakes.engine import completions
from fakes.engine.engine import Engine
from fakes.engine.steps import StreamPlan, Then
from fakes.point import Point
from fakes.replies import to_json
from wire.sse import DONE, encode_event

Writes = Generator[Write | Await, Any, None]


class Chunks:
    """One stream's events. Pieces beyond the plan are not sent; all text may be kept back for one piece."""

    def __init__(self, engine: Engine, op: str, slot: int, completion_id: str) -> None:
        self._engine = engine
        self._id = completion_id
        self._plan = engine.at(Point.ENGINE_STREAM, StreamPlan(op, slot))
        self._left = self._plan.n_chunks
        self._kept: list[str] = []

    @property
    def _empty(self) -> bool:
        return self._plan.n_chunks == 0 and self._plan.then is Then.NEXT

    def open(self) -> Writes:
        if not self._empty:
            yield self._event(completions.delta(self._id, self._engine.resident.alias, None))

    def piece(self, text: str) -> Writes:
        if self._plan.at_once:
            self._kept.append(text)
            return
        if self._left == 0:
            yield from self._cut()
            return
        if self._left is not None:
            self._left -= 1
        yield self._event(completions.delta(self._id, self._engine.resident.alias, text))

    def end(self, finish: str, timings: dict[str, Any]) -> Writes:
        if self._left is not None:
            yield from self._cut()
        alias = self._engine.resident.alias
        if self._plan.at_once:
            whole = completions.delta(self._id, alias, "".join(self._kept))
            whole["choices"][0]["finish_reason"] = finish
            yield self._event(whole | {"timings": timings})
        elif not self._empty:
            yield self._event(completions.delta(self._id, alias, "", finish) | {"timings": timings})
        if self._plan.done:
            yield Write([encode_event(DONE)])

    def _cut(self) -> Writes:
        """No piece is left: the connection is cut or falls silent, unless the stream is to look whole."""
        if self._plan.then is Then.STALL:
            yield Await(Signal())
        if self._plan.then is Then.CLOSE:
            raise CutConnection

    def _event(self, value: dict[str, Any]) -> Write:
        return Write([encode_event(to_json(value))])
