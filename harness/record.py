"""What a run left behind, as values: replies, logs, journals, files, exits. Checks read nothing else.

Each part is either whole or says why it is not. Nothing here starts, waits for or judges anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Timings:
    """When things happened at the client, on the monotonic clock."""

    sent_ns: int
    first_byte_ns: int | None = None
    token_ns: tuple[int, ...] = ()
    end_ns: int | None = None

    @property
    def ttft_ms(self) -> float | None:
        """Request sent to first token received; for a reply that is not streamed, to its first byte."""
        first = self.token_ns[0] if self.token_ns else self.first_byte_ns
        return None if first is None else (first - self.sent_ns) / 1e6

    @property
    def itl_ms(self) -> tuple[float, ...]:
        """Gaps between tokens, the first token left out."""
        pairs = zip(self.token_ns, self.token_ns[1:], strict=False)
        return tuple((after - before) / 1e6 for before, after in pairs)

    @property
    def total_ms(self) -> float | None:
        return None if self.end_ns is None else (self.end_ns - self.sent_ns) / 1e6


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """One generated token where log probabilities were asked for; `margin` is top-1 minus top-2."""

    id: int | None
    text: str
    margin: float | None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one request. `failure` says how it was cut short, and is empty for a whole reply."""

    timings: Timings
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    finish_reason: str | None = None
    error: str = ""
    error_type: str | None = None
    failure: str = ""
    streamed: bool = False
    frames: int = 0
    comments: int = 0
    done: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    server_timings: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[TokenChoice, ...] = ()
    body: Any = None

    @property
    def token_ids(self) -> tuple[int, ...] | None:
        """The generated ids where the reply itself names them all."""
        ids = tuple(choice.id for choice in self.choices if choice.id is not None)
        return ids if ids and len(ids) == len(self.choices) else None


@dataclass(frozen=True, slots=True)
class Plain:
    """The same request on a decoder of its own with no handoff: the reference."""

    prompt_tokens: tuple[int, ...]
    reply: Reply
    token_ids: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of the scenario: its name, the prompt's ids, its reply and the plain run's."""

    name: str
    max_tokens: int | None
    prompt_tokens: tuple[int, ...]
    reply: Reply
    plain: Plain | None
    where: str


@dataclass(frozen=True, slots=True)
class Pages:
    """A server's /metrics before and after something was asked of it. `unread` says why one of them is not there."""

    before: str = ""
    after: str = ""
    unread: str = ""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What came of one step on a decoder: its reply, and for a completion its prompt's and its own ids.

    `margins` are top-1 minus top-2 in log probability, one for each id where the reply names them. `metrics` are there
    where a check looks at them.
    """

    name: str
    sent_ns: int
    status: int | None
    first_ns: int | None = None
    end_ns: int | None = None
    failure: str = ""
    body: Any = None
    prompt: tuple[int, ...] = ()
    ids: tuple[int, ...] = ()
    margins: tuple[float | None, ...] = ()
    metrics: Pages | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a journal."""

    line: int
    t_ns: int
    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Journal:
    """A fake's journal. `incomplete` says why it cannot be trusted to be whole."""

    path: Path
    events: tuple[Event, ...] = ()
    incomplete: str = ""

    def where(self, event: Event) -> str:
        return f"{self.path.name}:{event.line}"


@dataclass(frozen=True, slots=True)
class Log:
    """A process's output, line by line; `stamps` say when the first of them were read, on the monotonic clock."""

    path: Path
    lines: tuple[str, ...] = ()
    incomplete: str = ""
    stamps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FileEvent:
    """Something that happened to a file in a folder that was watched."""

    t_ns: int
    folder: str
    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: its status (minus the signal's number), and whether it had been asked to."""

    status: int | None
    asked: bool
    killed: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """An intervention that was made: what, to whom or whose, when, and why it did not come about."""

    name: str
    act: str
    to: str
    t_ns: int
    missed: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """Everything one run of one scenario left."""

    exchanges: tuple[Exchange, ...] = ()
    logs: Mapping[str, Log] = field(default_factory=dict)
    journals: Mapping[str, Journal] = field(default_factory=dict)
    files: tuple[FileEvent, ...] | None = None
    exits: Mapping[str, Exit] = field(default_factory=dict)
    metrics: str | None = None
    slots: Any = None
    steps: tuple[StepRecord, ...] = ()
    done: tuple[Done, ...] = ()


def read_log(path: Path, incomplete: str = "", stamps: Iterable[int] = ()) -> Log:
    """The lines of a file; what is no UTF-8 is shown as replacement characters."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return Log(path, (), incomplete or f"{path.name} cannot be read: {error.strerror}")
    return Log(path, tuple(text.splitlines()), incomplete, tuple(stamps))


def read_journal(path: Path, *, ended: bool = True, killed: frozenset[int] = frozenset()) -> Journal:
    """A journal as it lies on disk. Whole if every process that wrote `start` or anything else also wrote `end`.

    Those that the harness itself has `killed` need not have.

    A file that is not there is a whole journal without entries only where `ended` is false: the fake may never
    have been started, as a provider that no router asked for.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return Journal(path, (), f"{path.name} was never written" if ended else "")
    except OSError as error:
        return Journal(path, (), f"{path.name} cannot be read: {error.strerror}")
    return _parsed(path, raw, ended, killed)


def _parsed(path: Path, raw: bytes, ended: bool, killed: frozenset[int]) -> Journal:
    events: list[Event] = []
    open_pids: dict[Any, None] = {}
    for number, line in enumerate(raw.splitlines(keepends=True), start=1):
        try:
            fields = json.loads(line)
            event = Event(number, int(fields["t_ns"]), str(fields["event"]), fields)
        except (ValueError, KeyError, TypeError):
            return Journal(path, tuple(events), f"{path.name}:{number} is no whole journal entry")
        events.append(event)
        if event.event == "end":
            open_pids.pop(fields.get("pid"), None)
        else:
            open_pids[fields.get("pid")] = None
    open_pids = {pid: None for pid in open_pids if pid not in killed}
    if open_pids:
        pids = ", ".join(str(pid) for pid in open_pids)
        return Journal(path, tuple(events), f"{path.name} is cut short: no end record of process {pids}")
    missing = f"{path.name} is empty" if ended and not events else ""
    return Journal(path, tuple(events), missing)
