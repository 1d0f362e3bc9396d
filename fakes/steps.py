"""What a fake is about to do, as values: a fault turns the honest step into the faulty one.

No step knows a socket or a clock. A stall, a missing descriptor or a sudden end is said here and carried out by
whoever owns the socket or the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wire.region import ShareHeader


@dataclass(frozen=True, slots=True)
class Go:
    """Do what was asked."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with this error and do nothing. `body` is the whole body where it is not the usual one."""

    status: int
    message: str
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Stall:
    """Do nothing and never answer; the slot is not held meanwhile."""


Decision = Go | Refuse | Stall


class Sends(Enum):
    """What reaches the router's socket during a share."""

    ALL = "all"
    HEADER = "header"
    """The header, without descriptors."""
    NOTHING = "nothing"
    """A connection, and nothing on it."""
    NO_CONNECTION = "no-connection"


@dataclass(frozen=True, slots=True)
class ShareMessage:
    """The one message of a share."""

    header: ShareHeader
    sends: Sends = Sends.ALL


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP reply with a JSON body."""

    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore took from its file: how many tokens it will say, and which will be matched from now on."""

    n_restored: int
    tokens: tuple[int, ...]


class End(Enum):
    """How a provider ends."""

    HONEST = "honest"
    HANG = "hang"
    """Never by itself."""
    EXIT = "exit"
    """With `status`, without a claim."""
    KILLED = "killed"
    """By SIGKILL, without a claim."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """What a provider is about to do: rows of the first `n_rows` of `tokens`, a claim of `n_claimed`, its end."""

    tokens: tuple[int, ...]
    n_rows: int
    n_claimed: int
    end: End = End.HONEST
    status: int = 0


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """The last line of a provider's output, as it will be written."""

    line: bytes
