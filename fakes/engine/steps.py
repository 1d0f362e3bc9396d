"""What the engine is about to do, as values: a fault turns the honest step into the faulty one.

Every step carries the operation and the slot it is about, so that a fault can be limited to them. No step knows a
socket or a clock: a stall, a cut or the end of the process is said here and carried out by whoever owns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from fakes.engine.checkpoints import Snapshot


class Arrival(Enum):
    """What becomes of a new connection."""

    SERVE = "serve"
    RESET = "reset"
    IGNORE = "ignore"
    """It is read and never answered."""
    WAIT = "wait"
    """As if all workers were taken: it is neither read nor answered."""
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Accept:
    """A connection has come in; `idle_s` is how long it may say nothing."""

    connection: int
    arrival: Arrival = Arrival.SERVE
    idle_s: float = 120.0


class Then(Enum):
    """What becomes of the connection behind an answer."""

    NEXT = "next"
    CLOSE = "close"
    STALL = "stall"
    """It stays open and nothing more is sent."""


class Death(Enum):
    """Whether the process ends here."""

    NO = "no"
    EXIT = "exit"
    RETURN = "return"
    """All connections are cut and all slots are empty, as after a quick restart."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer instead of the work."""

    status: int
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Admission:
    """A request's head was read, and nothing of its payload.

    `occupied`: a stranger's request sits on the slot from here on, until a request comes that does not find one.
    `drained`: the payload is read before a refusal goes out. `legacy`: DECODE speaks the generation without a frame.
    `kv_unread`: a DECODE is answered before its kv segment, whose bytes are then taken for the next request.
    `answered` false closes without a word. `transferring` leaves the slot marked as being transferred, for good.
    """

    op: str
    slot: int | None
    refusal: Refusal | None = None
    occupied: bool = False
    drained: bool = True
    then: Then = Then.NEXT
    delay_s: float = 0.0
    heeds_reservation: bool = True
    legacy: bool = False
    kv_unread: bool = False
    answered: bool = True
    transferring: bool = False
    death: Death = Death.NO


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """An answer that would go out next. Lengths are honest unless they are set; the payload itself is elsewhere.

    `stops_after` counts the bytes of head, meta and payload together; `behind` is sent though nothing announced it.
    """

    op: str
    slot: int | None
    status: int
    meta: Mapping[str, Any] | bytes
    payload_bytes: int = 0
    meta_announced: int | None = None
    payload_announced: int | None = None
    piece_bytes: int | None = None
    stops_after: int | None = None
    payload_stops_after: int | None = None
    behind: bytes = b""
    then: Then = Then.NEXT

    @property
    def fields(self) -> Mapping[str, Any]:
        """The meta, where it still is an object."""
        return {} if isinstance(self.meta, bytes) else self.meta


@dataclass(frozen=True, slots=True)
class BlobDraft:
    """State that would be written as a blob. Counts that lie stand beside the honest ones."""

    op: str
    slot: int
    version: int
    n_past: int
    tokens: tuple[int, ...]
    snapshot: Snapshot | None
    logits: bytes
    n_tok_announced: int | None = None
    flags_announced: int | None = None
    target_announced: int | None = None
    as_v1: bool = False
    drop_tail: int = 0
    """So many bytes are missing at the end, and nothing announces them."""
    absent: bool = False
    """Nothing at all is written: a payload of length 0."""


@dataclass(frozen=True, slots=True)
class Restore:
    """State that would be put into a slot. `tokens` is the list the slot will know; `failure` instead is an error.

    `frozen_s` is how long the slot then hangs before it evaluates anything; `poisoned` leaves the tokens of a failed
    restore behind.
    """

    op: str
    slot: int
    form: str
    tokens: tuple[int, ...]
    failure: str = ""
    frozen_s: float = 0.0
    poisoned: bool = False


@dataclass(frozen=True, slots=True)
class EntryReply:
    """What a GET of a stored result answers when it is no stream."""

    op: str
    slot: int | None
    state: str
    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """How a stream of events will go: how many pieces are sent (`n_chunks` None: all of them), and how it ends.

    Behind the last piece the connection is cut (`then` CLOSE) or falls silent (STALL), or the stream ends as if it
    had been whole (NEXT). `at_once` puts all text into one piece.
    """

    op: str
    slot: int
    n_chunks: int | None = None
    at_once: bool = False
    done: bool = True
    then: Then = Then.CLOSE


@dataclass(frozen=True, slots=True)
class TokenStep:
    """The `n`-th token of a reply would come next, from 1."""

    op: str
    slot: int
    n: int
    death: Death = Death.NO


@dataclass(frozen=True, slots=True)
class LegacyReply:
    """The frames or pieces of a DECODE of an older generation, all of them."""

    op: str
    slot: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SlotsReply:
    """What `GET /slots` answers."""

    op: str
    slot: int | None
    slots: tuple[Mapping[str, Any], ...]
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Cancel:
    """A request's client is gone, or asked for its end."""

    op: str
    slot: int
    heeded: bool = True
    looks: int = 0
    """Not heeded: the slot is shown as working until it was looked at so many times."""
