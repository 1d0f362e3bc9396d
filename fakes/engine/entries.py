"""The stored results of merged DECODEs: what a GET of one answers, as a table over its state.

Reading a failed entry deletes it, an entry that is generating has nothing to show without a stream, and everything
is forgotten after its time or when too many are kept. Time is handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from fakes.effects import Signal

MAX_ENTRIES = 1024
LIFETIME_S = 300.0


class EntryState(Enum):
    """What a stored result has come to."""

    LOADING = "loading"
    RESTORING = "restoring"
    GENERATING = "generating"
    FAILED = "failed"
    DONE = "done"


class Reading(Enum):
    """What one GET gives."""

    UNKNOWN = "404, not found or expired"
    NOT_READY = "404, not ready"
    PROGRESS = "202 and JSON"
    MESSAGE = "400 with the message"
    COMPLETION = "200 and the whole completion"
    STREAM = "200 and events as they come"
    ONE_DELTA = "200 and one event with all text"


READINGS: dict[tuple[EntryState, bool], Reading] = {
    (EntryState.LOADING, False): Reading.PROGRESS,
    (EntryState.LOADING, True): Reading.PROGRESS,
    (EntryState.RESTORING, False): Reading.PROGRESS,
    (EntryState.RESTORING, True): Reading.PROGRESS,
    (EntryState.FAILED, False): Reading.MESSAGE,
    (EntryState.FAILED, True): Reading.MESSAGE,
    (EntryState.GENERATING, False): Reading.NOT_READY,
    (EntryState.GENERATING, True): Reading.STREAM,
    (EntryState.DONE, False): Reading.COMPLETION,
    (EntryState.DONE, True): Reading.ONE_DELTA,
}
"""(state, an event stream is accepted) to what the GET gives."""


@dataclass(slots=True)
class Entry:
    """One stored result. `body` is the final completion once there is one, `message` what a failure says.

    `pieces` are the texts of its tokens so far; `changed` is set when there is more of them, or an end.
    """

    request_id: int
    slot: int
    made_at: float
    state: EntryState = EntryState.LOADING
    message: str = ""
    match: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    finish: str = ""
    changed: Signal = field(default_factory=Signal)
    cancel: Callable[[], object] | None = None

    def change(self) -> None:
        """Tells everybody who waits, and lets the next ones wait anew."""
        changed, self.changed = self.changed, Signal()
        changed.set()


class Entries:
    """All stored results of one engine, oldest first."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._next_id = 1

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, slot: int, now: float) -> Entry:
        self._forget_old(now)
        while len(self._entries) >= MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]
        entry = Entry(self._next_id, slot, now)
        self._next_id += 1
        self._entries[entry.request_id] = entry
        return entry

    def maybe(self, request_id: int, now: float) -> Entry | None:
        self._forget_old(now)
        return self._entries.get(request_id)

    def read(self, request_id: int, now: float, *, stream: bool) -> tuple[Reading, Entry | None]:
        """What a GET gives now; a failed entry is gone afterwards."""
        entry = self.maybe(request_id, now)
        if entry is None:
            return Reading.UNKNOWN, None
        if entry.state is EntryState.FAILED:
            del self._entries[request_id]
        return READINGS[entry.state, stream], entry

    def remove(self, request_id: int) -> None:
        self._entries.pop(request_id, None)

    def _forget_old(self, now: float) -> None:
        old = [key for key, entry in self._entries.items() if now - entry.made_at > LIFETIME_S]
        for key in old:
            del self._entries[key]
