"""What an operation comes to, and what an operation is: fed with its payload, then finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fakes.engine.blobs import EMPTY, Payload
from fakes.engine.work import Work
from wire.hydra import Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer. `after` is called when it has gone out, or could not; `behind` follows it, announced by nothing."""

    status: Status
    meta: Mapping[str, Any] = field(default_factory=dict)
    payload: Payload = EMPTY
    after: Callable[[], None] | None = None
    behind: bytes = b""


class Answered(Exception):
    """The answer is known before the payload has ended; the rest of it changes nothing. Mostly a refusal."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.status.name)
        self.outcome = outcome


class Operation(Protocol):
    """One request whose head was accepted."""

    def receive(self, data: bytes) -> None:
        """Some of the payload. Raises `Answered`."""

    def finish(self) -> Work[Outcome]:
        """The payload is whole. Raises `Answered`."""

    def abandon(self) -> None:
        """The client went away before that."""


class Buffered:
    """An operation whose payload is small: kept until it is whole, and handed to `handler` then."""

    def __init__(self, handler: Callable[[bytes], Work[Outcome]]) -> None:
        self._handler = handler
        self._payload = bytearray()

    def receive(self, data: bytes) -> None:
        self._payload += data

    def finish(self) -> Work[Outcome]:
        return (yield from self._handler(bytes(self._payload)))

    def abandon(self) -> None:
        """Nothing was begun."""
