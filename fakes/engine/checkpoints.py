"""Where a slot whose memory cannot be cut at any position resumes: from a checkpoint, as it is, or from nothing.

Attention KV can be cut anywhere. Recurrent state cannot: it stands where it stands, and only a snapshot taken
earlier brings it back. A slot that was just restored is believed once, since its KV came with its token list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State after the first `n_tokens` tokens, positions `pos_min`..`pos_max`. Recurrent-only: without attention."""

    pos_min: int
    pos_max: int
    n_tokens: int
    recurrent_only: bool
    data: bytes


class Why(Enum):
    """How the position was found; the words go to the journal."""

    ATTENTION = "attention memory is cut where the prompt diverges"
    EXTENDS = "the prompt purely extends what the memory holds"
    CHECKPOINT = "a checkpoint was loaded"
    JUST_RESTORED = "just restored, the search was skipped"
    NONE = "no checkpoint, forcing full prompt re-processing"


@dataclass(frozen=True, slots=True)
class Resume:
    """`n_past` tokens are kept. `kept` are the checkpoints that are not beyond it."""

    n_past: int
    why: Why
    snapshot: Snapshot | None
    kept: tuple[Snapshot, ...]


def find_resume(
    n_past: int, snapshots: Sequence[Snapshot], *, recurrent: bool, memory_end: int, just_restored: bool
) -> Resume:
    """`n_past` as the prompt match has it; `memory_end` is the number of tokens the recurrent state has absorbed."""
    if not recurrent:
        return _resume(n_past, Why.ATTENTION, None, snapshots)
    if n_past == memory_end:
        return _resume(n_past, Why.EXTENDS, None, snapshots)
    for snapshot in reversed(snapshots):
        if snapshot.pos_max <= n_past:
            position = min(n_past, max(snapshot.pos_min + 1, snapshot.pos_max))
            return _resume(min(position, snapshot.n_tokens), Why.CHECKPOINT, snapshot, snapshots)
    if just_restored and n_past > 0:
        return _resume(n_past, Why.JUST_RESTORED, None, snapshots)
    return _resume(0, Why.NONE, None, snapshots)


def _resume(n_past: int, why: Why, snapshot: Snapshot | None, snapshots: Sequence[Snapshot]) -> Resume:
    kept = tuple(candidate for candidate in snapshots if candidate.pos_max <= n_past)
    return Resume(n_past, why, snapshot, kept)
