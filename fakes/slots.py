"""Slots: what each holds, which moves it may make, and which one a request gets.

The moves are a table; a move that is not in it cannot be made. Knows nothing of rows: only of token lists.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from fakes.params import Params


class State(Enum):
    """Busy with a request or not; lent to a router or not."""

    FREE = "free"
    BUSY = "busy"
    LENT = "lent"
    LENT_BUSY = "lent and busy"


class Move(Enum):
    START = "start"
    END = "end"
    SHARE = "share"
    ADOPT = "adopt"
    SAVE = "save"
    RESTORE = "restore"
    ERASE = "erase"


MOVES: dict[tuple[State, Move], State] = {
    (State.FREE, Move.START): State.BUSY,
    (State.BUSY, Move.END): State.FREE,
    (State.LENT, Move.START): State.LENT_BUSY,
    (State.LENT_BUSY, Move.END): State.LENT,
    (State.FREE, Move.SHARE): State.LENT,
    (State.LENT, Move.SHARE): State.LENT,
    (State.LENT, Move.ADOPT): State.FREE,
    (State.FREE, Move.SAVE): State.FREE,
    (State.LENT, Move.SAVE): State.LENT,
    (State.FREE, Move.RESTORE): State.FREE,
    (State.LENT, Move.RESTORE): State.FREE,
    (State.FREE, Move.ERASE): State.FREE,
    (State.LENT, Move.ERASE): State.FREE,
}
"""A request does not end a share; only adopt, restore, erase and the next share do."""


class IllegalMove(Exception):
    """A move that the table does not have."""


@dataclass(slots=True)
class Slot:
    """One slot. Its cells are `n_ctx` from `first_cell` on, its sequence is its own."""

    id: int
    first_cell: int
    n_ctx: int
    tokens: array[int] = field(default_factory=lambda: array("i"))
    state: State = State.FREE
    share_id: str | None = None
    task_id: int = -1
    t_last: int = -1
    """When it was last released, in µs; -1 for never."""
    params: Params | None = None
    """Of the last request it served."""
    n_prompt_processed: int = 0
    n_prompt_cached: int = 0
    n_decoded: int = 0
    n_remain: int = -1

    @property
    def is_busy(self) -> bool:
        return self.state in (State.BUSY, State.LENT_BUSY)

    def move(self, move: Move) -> None:
        """IllegalMove when the slot's state does not allow it."""
        after = MOVES.get((self.state, move))
        if after is None:
            raise IllegalMove(f"slot {self.id} is {self.state.value}: no {move.value}")
        self.state = after
        if after in (State.FREE, State.BUSY):
            self.share_id = None

    def keep(self, n_tokens: int) -> None:
        """Forget all tokens but the first `n_tokens`."""
        del self.tokens[n_tokens:]


def common_prefix(held: array[int], wanted: array[int]) -> int:
    """How many tokens both start with."""
    low, high = 0, min(len(held), len(wanted))
    if held[:high] == wanted[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if held[low:middle] == wanted[low:middle]:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True, slots=True)
class Choice:
    """A slot and why it was taken: the words of llama-server's log line."""

    slot: Slot
    reason: str
    is_oldest: bool = False
    """Whether nothing but its age spoke for it."""


def choose(slots: Sequence[Slot], wanted: array[int], similarity: float) -> Choice | None:
    """The slot for a request that names none; None when all are busy."""
    idle = [slot for slot in slots if not slot.is_busy]
    best, best_score, best_prefix = None, similarity, 0
    if similarity > 0 and wanted:
        for slot in idle:
            if slot.tokens:
                prefix = common_prefix(slot.tokens, wanted)
                if prefix / len(wanted) > best_score:
                    best, best_score, best_prefix = slot, prefix / len(wanted), prefix
    if best is not None:
        keep = best_prefix / len(best.tokens)
        return Choice(
            best,
            f"selected slot by LCP similarity, f_sim_best = {best_score:.3f} (> {similarity:.3f} thold),"
            f" f_keep = {keep:.3f}",
        )
    oldest = oldest_idle(idle)
    return None if oldest is None else Choice(oldest, f"selected slot by LRU, t_last = {oldest.t_last}", is_oldest=True)


def oldest_idle(idle: Iterable[Slot]) -> Slot | None:
    """The slot released longest ago, of several the one with the highest id."""
    return min(idle, key=lambda slot: (slot.t_last, -slot.id), default=None)


def wrapped(id_slot: int, n_slots: int) -> int:
    """The slot that an id really means: too large ones wrap, negative ones as unsigned 64-bit numbers."""
    return (id_slot % (1 << 64)) % n_slots
