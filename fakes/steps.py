"""What a fake is about to do, as values: a fault turns the honest step into the faulty one.

No step knows a socket or a clock. A stall, a missing descriptor or a sudden end is said here and carried out by
whoever owns the socket or the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wire.region import ShareHeader


@dataclass(frozen=True, slots=True)
class Go:
    """Do what was asked."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with this error and do nothing. `body` is the whole body where it is not the usual one.

    With `poisons` every completion after it comes back empty, until the process is another.
    """

    status: int
    message: str
    body: Mapping[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    poisons: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """Do nothing and never answer; the slot is not held meanwhile."""


@dataclass(frozen=True, slots=True)
class Late:
    """Do what was asked, so many seconds later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Drop:
    """End the connection without an answer."""

    reset: bool = True


@dataclass(frozen=True, slots=True)
class Die:
    """The process ends here: by a signal, or with a status."""

    signal: int | None = 9
    status: int = 1


@dataclass(frozen=True, slots=True)
class Freeze:
    """The process is stopped (SIGSTOP) until somebody lets it go on."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The process is as if started again: connections cut, `gone_s` without a port, then loading, then empty.

    `model` is what it comes back as, None for what it was.
    """

    gone_s: float = 0.05
    model: str | None = None


Fate = Die | Freeze | Restart
Decision = Go | Refuse | Stall | Late | Drop | Fate


class Welcome(Enum):
    """What happens to a connection that has come in."""

    SERVE = "serve"
    HOLD = "hold"
    """Nothing is read and nothing said; it stays open."""
    CLOSE = "close"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A connection that has come in."""

    welcome: Welcome = Welcome.SERVE


@dataclass(frozen=True, slots=True)
class Listening:
    """Whether the port takes connections. The address stays the fake's own either way."""

    open: bool = True


@dataclass(frozen=True, slots=True)
class Load:
    """How loading goes: how long it takes, None for ever, and whether the process ends then."""

    seconds: float | None
    die: Die | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """Serving begins; the process may end by itself after so many seconds."""

    dies_after_s: float | None = None
    die: Die = Die()


@dataclass(frozen=True, slots=True)
class Stopping:
    """A signal to end: how long the end takes, None where it is ignored."""

    seconds: float | None = 0.0


@dataclass(frozen=True, slots=True)
class GivingUp:
    """What becomes of the work for a client that has left."""

    gives_up: bool = True


class Halt(Enum):
    """How an answer stops before its end."""

    CLOSE = "close"
    """The connection is closed, as if all had been said."""
    RESET = "reset"
    STALL = "stall"
    """The connection stays open, and nothing more comes."""
    TIDY = "tidy"
    """The body ends as HTTP has it, whatever is missing of it."""
    DIE = "die"
    """The process dies."""


@dataclass(frozen=True, slots=True)
class Sending:
    """How the bytes of an answer get to the socket, the head's included.

    `piece_bytes` at a time with `gap_s` between; with `head_only` the rest goes at once. `stop_at` bytes are sent, or
    all where they are fewer, and then it halts. `gather` keeps all of it back until the answer has ended. `late_s`
    passes before the first of them, with all the work done.
    """

    piece_bytes: int | None = None
    gap_s: float = 0.0
    head_only: bool = False
    stop_at: int | None = None
    halt: Halt = Halt.CLOSE
    gather: bool = False
    late_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds between two pieces of a stream."""

    seconds: float


Piece = bytes | Wait | Halt
"""A chunk of a stream's body, a wait, or its untimely end."""


class StreamEdit:
    """What becomes of a stream's events. This one leaves them as they are; made afresh for each stream."""

    def event(self, index: int, data: bytes) -> Iterable[Piece]:
        """What goes out in place of the event with this index, which is a whole frame."""
        yield data

    def end(self) -> Iterable[Piece]:
        """What goes out when there are no more events."""
        return ()


@dataclass(frozen=True, slots=True)
class StreamOut:
    """A stream's head, and what becomes of its events."""

    edits: tuple[StreamEdit, ...] = ()
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()


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
    """The one message of a share.

    `late_s` passes before it, or with `after_reply` it comes so long after the HTTP reply; so many descriptors too many
    or too few go with it; of its bytes only `cut_at` are sent; `data` stands in place of the header as JSON, and
    `length` in place of its length.
    """

    header: ShareHeader
    sends: Sends = Sends.ALL
    late_s: float = 0.0
    more_descriptors: int = 0
    cut_at: int | None = None
    data: bytes | None = None
    length: int | None = None
    after_reply: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP reply with a JSON body."""

    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore took from its file: how many tokens it will say, and which will be matched from now on.

    The rows of the first `rows_lost` of them are zeros. With `dies` the process ends instead.
    """

    n_restored: int
    tokens: tuple[int, ...]
    rows_lost: int = 0
    dies: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which slot is wanted, None for any of `n_slots`; `is_action` for a slot action.

    Every slot in `stuck` is taken first by somebody who never gives it back.
    """

    slot: int | None
    n_slots: int
    is_action: bool
    stuck: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A prompt of `n_prompt` tokens of which the slot holds `held`, pinned to it or not.

    `reuses`: what is held is not evaluated again. `attends`: else the slot is emptied, and only what it did not hold is
    evaluated. `spares_last`: where all is held, not even the last token is evaluated. `of_previous`: the answer is made
    of the prompt before this one. `overrun`: so many tokens come behind the limit of the reply.
    """

    held: int
    n_prompt: int
    pinned: bool
    has_previous: bool
    reuses: bool = True
    attends: bool = True
    spares_last: bool = False
    of_previous: bool = False
    overrun: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """What a reply will say of its prompt: tokens that were reused, and tokens that were evaluated."""

    cache_n: int
    prompt_n: int


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that would be written of `slot`: `keep` bytes of it, None for all; then `errno`, 0 for none.

    `n_saved` is how many tokens the save will say.
    """

    slot: int
    n_slots: int
    n_bytes: int
    n_saved: int
    keep: int | None = None
    errno: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that would be read; with an `errno` it cannot be. `keeps_rows`: the slot's rows stay as they are."""

    errno: int = 0
    keeps_rows: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """An adopt that is refused where `why` is not empty; `share_id_only`: the share id is all that is wrong."""

    why: str = ""
    share_id_only: bool = False


@dataclass(frozen=True, slots=True)
class Adopted:
    """How many tokens an adopt will say, and which will be matched from now on."""

    n_adopted: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Erased:
    """How many tokens an erase will say, and whether they go."""

    n_erased: int
    forgets: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """What a completion's body says of the length of its reply, None where it says nothing, and what is decided."""

    n_min: int | None
    n_max: int | None
    decision: Decision = Go()


@dataclass(frozen=True, slots=True)
class Hello:
    """A TLS client that asks for `server_name`; `certificate` is the file of the one it is shown, None for the own."""

    server_name: str | None
    certificate: str | None = None


class End(Enum):
    """How a provider ends."""

    HONEST = "honest"
    HANG = "hang"
    """Never by itself."""
    EXIT = "exit"
    """With `status`, without a claim."""
    FAILS = "fails"
    """With `status`, behind a claim."""
    KILLED = "killed"
    """By SIGKILL, without a claim."""


@dataclass(frozen=True, slots=True)
class Prefill:
    """What a provider is about to do: rows of the first `n_rows` of `tokens`, a claim of `n_claimed`, its end.

    `late_s` pass before it does anything. `slow_s` pass in the middle of its rows, and no SIGTERM ends it from then on.
    Every row is `shifted` cells further than its own; a byte of the row of cell `damaged_cell` is another one. With
    `leaves_child` a process of its group outlives it and holds its output open. `says` is what its stderr says.

    Of a state file alone: `foreign_file`, the token list in front is another prompt's; `damaged_file`, a byte of the
    rows is another one after the checksum was taken; the disk has room for `room` bytes of it.
    """

    tokens: tuple[int, ...]
    n_rows: int
    n_claimed: int
    is_shared: bool
    end: End = End.HONEST
    status: int = 0
    foreign_file: bool = False
    damaged_file: bool = False
    late_s: float = 0.0
    slow_s: float = 0.0
    shifted: int = 0
    damaged_cell: int | None = None
    leaves_child: bool = False
    room: int | None = None
    says: str = ""


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """The last line of a provider's output, as it will be written, and how much stands on its stderr before it."""

    line: bytes
    stderr_bytes: int = 0
