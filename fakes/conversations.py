"""Streams that outlive their clients: a request with `X-Conversation-Id` is worked on to its end, whoever reads.

What it says is kept under its conversation's name, and can be asked for again from any byte on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

from fakes.api_error import ApiError
from fakes.effects import (
    END_STREAM,
    Await,
    ClientGone,
    CutConnection,
    Effect,
    EndStream,
    Flow,
    Pause,
    Reply,
    Signal,
    StartStream,
    Write,
)
from wire.sse import encode_event

HEADER = "x-conversation-id"
_KEPT = 64
"""So many conversations that have ended are remembered."""


class Conversation:
    """One stream's events, from its first to its last."""

    def __init__(self, name: str, started_at: int) -> None:
        self.name = name
        self.started_at = started_at
        self.completed_at = 0
        self.is_done = False
        self.said: list[bytes] = []
        self.started: StartStream | None = None
        self.error: ApiError | None = None
        self.reply: Reply | EndStream = END_STREAM
        self._stopped = False
        self._changed = Signal()

    def to_json(self) -> dict[str, Any]:
        """As a look-up shows it; times are whole seconds."""
        return {
            "conversation_id": self.name,
            "is_done": self.is_done,
            "total_bytes": sum(map(len, self.said)),
            "started_at": self.started_at,
            "completed_at": self.completed_at,
        }

    def stop(self) -> None:
        """End the work at its next step; whoever reads sees the stream end there."""
        self._stopped = True
        self._wake()

    def work(self, flow: Flow, now: Callable[[], int]) -> Flow:
        """The flow of a completion, with nobody who reads it: what it writes is kept."""
        step: Callable[[], Effect] = partial(next, flow)
        try:
            while True:
                effect = step()
                if isinstance(effect, StartStream):
                    self.started = effect
                elif isinstance(effect, Write):
                    self.said += effect.events
                else:
                    yield from self._wait(effect)
                self._wake()
                step = partial(flow.throw, ClientGone()) if self._stopped else partial(next, flow)
        except StopIteration as end:
            self.reply = end.value
        except ApiError as error:
            self._failed(error)
        except (ClientGone, CutConnection):
            pass
        finally:
            self.is_done, self.completed_at = True, now()
            self._wake()
        return END_STREAM

    def _failed(self, error: ApiError) -> None:
        if self.started is None:
            self.error = error
        else:
            self.said.append(encode_event(error.body))

    def _wait(self, effect: Effect) -> Generator[Effect, Any, None]:
        """Until it has come, or the work was stopped."""
        if not isinstance(effect, Await):
            yield effect
            return
        woken = Signal()
        effect.signal.on_set(woken.set)
        self._changed.on_set(woken.set)
        yield Await(woken, effect.seconds)

    def _wake(self) -> None:
        changed, self._changed = self._changed, Signal()
        changed.set()

    def follow(self, at: int = 0) -> Flow:
        """What was said from byte `at` on, and what comes, to the end. ApiError: it was refused."""
        while self.started is None and not self.is_done:
            yield Await(self._changed)
        if self.error is not None:
            raise self.error
        if self.started is None:
            return self.reply
        yield self.started
        n_read = 0
        while True:
            events, n_read = self.said[n_read:], len(self.said)
            if left := list(_from(events, at)):
                yield Write(left)
            at = max(0, at - sum(map(len, events)))
            if n_read == len(self.said):
                if self.is_done:
                    return END_STREAM
                yield Await(self._changed)


def _from(events: list[bytes], at: int) -> Iterator[bytes]:
    for event in events:
        if event[at:]:
            yield event[at:]
        at = max(0, at - len(event))


class Conversations:
    """Those there are, by name. `now` is the time of day in whole seconds."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._by_name: dict[str, Conversation] = {}

    def find(self, name: str) -> Conversation | None:
        return self._by_name.get(name)

    def begin(self, name: str, flow: Flow, alone: Callable[[Flow, Effect], object]) -> Flow:
        """Work on it alone; the flow of the client that asked. An earlier one of that name is stopped.

        `alone` drives a flow that has no client.
        """
        self.end(name)
        made = self._by_name[name] = Conversation(name, self._now())
        alone(made.work(flow, self._now), Pause(0))
        try:
            return (yield from made.follow())
        except ApiError:
            if self._by_name.get(name) is made:
                del self._by_name[name]
            raise
        finally:
            self._forget_old()

    def end(self, name: str) -> None:
        """Stop it where it is, and forget it."""
        found = self._by_name.pop(name, None)
        if found is not None:
            found.stop()

    def _forget_old(self) -> None:
        done = [name for name, each in self._by_name.items() if each.is_done]
        for name in done[:-_KEPT]:
            del self._by_name[name]
