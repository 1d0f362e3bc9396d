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

    def open(self) -> Writes:
        if self._left != 0:
            yield self._event(completions.delta(self._id, self._engine.resident.alias, None))

    def piece(self, text: str) -> Writes:
        if self._plan.at_once:
            self._kept.append(text)
            return
        if self._left is not None:
            yield from self._cut_at(self._left)
            self._left -= 1
        yield self._event(completions.delta(self._id, self._engine.resident.alias, text))

    def end(self, finish: str, timings: dict[str, Any]) -> Writes:
        if self._left is not None:
            yield from self._cut_at(0)
        alias = self._engine.resident.alias
        if self._plan.at_once:
            whole = completions.delta(self._id, alias, "".join(self._kept))
            whole["choices"][0]["finish_reason"] = finish
            yield self._event(whole | {"timings": timings})
        else:
            yield self._event(completions.delta(self._id, alias, "", finish) | {"timings": timings})
        if self._plan.done:
            yield Write([encode_event(DONE)])

    def _cut_at(self, left: int) -> Writes:
        """Where the plan ends the stream early: the connection is cut, or nothing more is sent on it."""
        if left > 0:
            return
        if self._plan.then is Then.STALL:
            yield Await(Signal())
        raise CutConnection

    def _event(self, value: dict[str, Any]) -> Write:
        return Write([encode_event(to_json(value))])
