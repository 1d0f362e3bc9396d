"""Slots of all decoders: who holds which, what each is known to hold, and which one a prompt should go to.

Pure: no waiting, no clock, no sockets (`router.leases` waits). A slot's moves stand in one table; an illegal one is
a missing key. What a slot holds is what the router last sent there and nothing it was told.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class State(Enum):
    FREE = "free"
    LEASED = "leased"
    DOUBTFUL = "doubtful"
    """Its content or a late answer is in doubt: an erase must be answered first."""
    GONE = "gone"
    """Of a decoder that has ended since; the lease may still be held."""


class Move(Enum):
    LEASE = "lease"
    FREE = "free"
    DOUBT = "doubt"
    CLEAR = "clear"
    DROP = "drop"


MOVES: dict[tuple[State, Move], State] = {
    (State.FREE, Move.LEASE): State.LEASED,
    (State.LEASED, Move.FREE): State.FREE,
    (State.LEASED, Move.DOUBT): State.DOUBTFUL,
    (State.DOUBTFUL, Move.CLEAR): State.FREE,
    (State.FREE, Move.DROP): State.GONE,
    (State.LEASED, Move.DROP): State.GONE,
    (State.DOUBTFUL, Move.DROP): State.GONE,
    (State.GONE, Move.FREE): State.GONE,
    (State.GONE, Move.DOUBT): State.GONE,
    (State.GONE, Move.CLEAR): State.GONE,
    (State.GONE, Move.DROP): State.GONE,
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as far as it is known: its tokens, or only its text. The two are never compared."""

    key: bytes
    unit: int

    @classmethod
    def of_tokens(cls, tokens: Sequence[int]) -> Prompt:
        return cls(array("q", tokens).tobytes(), 8)

    @classmethod
    def of_text(cls, text: bytes) -> Prompt:
        return cls(text, 1)

    def __len__(self) -> int:
        return len(self.key) // self.unit

    def common(self, other: Prompt | None) -> int:
        """How many tokens (or bytes of text) both start with."""
        if other is None or other.unit != self.unit:
            return 0
        return _common_bytes(self.key, other.key) // self.unit


def _common_bytes(left: bytes, right: bytes) -> int:
    """By halving, since comparing two slices is one call however long they are."""
    a, b = memoryview(left), memoryview(right)
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


@dataclass(slots=True, eq=False)
class Slot:
    """One slot of one decoder."""

    decoder: int
    id: int
    state: State = State.FREE
    holds: Prompt | None = None
    used: int = 0
    """Which lease of all this was; 0 when it holds nothing."""

    def move(self, move: Move) -> None:
        """KeyError: an illegal move, which is a bug."""
        self.state = MOVES[self.state, move]
        if move in (Move.DOUBT, Move.CLEAR, Move.DROP):
            self.holds = None
            self.used = 0


Where = frozenset[int] | None
"""The decoders that a request may be served by; None: any."""


def prefix_held(slot: Slot, prompt: Prompt | None) -> int:
    """How much of `prompt` the slot holds, if the prompt goes on from there; 0 if most of the slot would be lost."""
    if prompt is None or slot.holds is None:
        return 0
    common = prompt.common(slot.holds)
    return common if common * 4 >= len(slot.holds) * 3 else 0


class SlotTable:
    """The slots of every decoder that is in service."""

    def __init__(self) -> None:
        self._slots: dict[int, tuple[Slot, ...]] = {}
        self._uses = 0

    def add(self, decoder: int, n_slots: int) -> None:
        """A decoder came into service: its slots are new, whatever was known of an earlier one."""
        self.drop(decoder)
        self._slots[decoder] = tuple(Slot(decoder, i) for i in range(n_slots))

    def drop(self, decoder: int) -> None:
        """A decoder went out of service."""
        for slot in self._slots.pop(decoder, ()):
            slot.move(Move.DROP)

    def choose(self, prompt: Prompt | None, where: Where = None) -> Slot | None:
        """The free slot to lease next, of one of the decoders `where`; None when there is none.

        The one that holds the prompt's prefix goes first. Else one that holds nothing, since a session's next turn
        wants its own back, then the one unused for longest; among equals on the least busy decoder, the lowest id.
        """
        free = [
            slot
            for decoder, slots in self._slots.items()
            if where is None or decoder in where
            for slot in slots
            if slot.state is State.FREE
        ]
        if not free:
            return None
        busy = {decoder: sum(slot.state is not State.FREE for slot in slots) for decoder, slots in self._slots.items()}
        return min(
            free, key=lambda slot: (-prefix_held(slot, prompt), slot.used, busy[slot.decoder], slot.decoder, slot.id)
        )

    def lease(self, slot: Slot) -> None:
        slot.move(Move.LEASE)
        self._uses += 1
        slot.used = self._uses

    def count(self, state: State) -> int:
        return sum(slot.state is state for slots in self._slots.values() for slot in slots)

    @property
    def decoders(self) -> tuple[int, ...]:
        """Those in service."""
        return tuple(self._slots)
