"""What a request's handler asks of the outside, as values: handlers are generators that yield these.

The handler decides, whoever drives it carries out: waits, writes, sends descriptors. So the whole decoder runs
without a socket or a clock, one step at a time, in tests as in the server.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from fakes.steps import Sending, ShareMessage


class Signal:
    """Something that happens once. Whoever waits is called back."""

    __slots__ = ("_waiters", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._waiters: list[Callable[[], object]] = []

    def set(self) -> None:
        self.is_set = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()

    def on_set(self, waiter: Callable[[], object]) -> None:
        """Call `waiter` when it happens, at once if it has."""
        if self.is_set:
            waiter()
        else:
            self._waiters.append(waiter)


@dataclass(frozen=True, slots=True)
class Await:
    """Wait until it happens, or for so many seconds at most."""

    signal: Signal
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Let so many seconds pass; 0 lets others have their turn."""

    seconds: float


@dataclass(frozen=True, slots=True)
class StartStream:
    """Send the headers of an event stream. Pings go out when it is silent for `ping_s`."""

    ping_s: float | None = 30.0
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    sending: Sending | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Send these events of the stream, each as one chunk."""

    events: list[bytes]


@dataclass(frozen=True, slots=True)
class SendShare:
    """Connect to the router's socket and send what `message` says. Its result is a `Sent`."""

    path: str
    message: ShareMessage


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a `SendShare`; `error` when it did not work out."""

    connected: bool
    n_descriptors: int
    error: str | None = None


Effect = Await | Pause | StartStream | Write | SendShare


@dataclass(slots=True)
class Reply:
    """An answer that is not a stream. `length` is what its head says where that is not the body's."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None
    sending: Sending | None = None


class EndStream:
    """The stream is over, and its connection may be used again."""


END_STREAM = EndStream()


class ClientGone(Exception):
    """Thrown into a handler that waits while its client leaves."""


class CutConnection(Exception):
    """Raised by a handler: the connection ends here, in the middle of whatever it was."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__()
        self.reset = reset


Flow = Generator[Effect, Any, Reply | EndStream]
Steps = Generator[Effect, Any, None]
