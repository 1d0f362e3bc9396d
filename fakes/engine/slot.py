"""One slot of the toy engine: the tokens it knows, the memory it has, and who is using it.

Tokens and memory are two things, and a slot is sound only while they agree: tokens without memory make a real
engine abort, memory without tokens is thrown away by the next prompt. `wipe` leaves neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes.engine.checkpoints import Snapshot
from fakes.engine.memory import Memory


@dataclass(slots=True)
class EngineSlot:
    """State of one slot. `occupied` is a stranger's request that a fault put there, `frozen_s` a hang to come,
    `looks_left` how long a cancelled request is still shown."""

    id: int
    n_ctx: int
    memory: Memory
    tokens: list[int] = field(default_factory=list)
    snapshots: tuple[Snapshot, ...] = ()
    restored_logits: bytes | None = None
    just_restored: bool = False
    reserved_by: int | None = None
    working: str = ""
    transferring: bool = False
    occupied: bool = False
    n_cached: int = 0
    n_decoded: int = 0
    n_remain: int = 0
    frozen_s: float = 0.0
    looks_left: int = 0

    @property
    def is_processing(self) -> bool:
        return bool(self.working) or self.occupied or self.looks_left > 0

    def looked_at(self) -> None:
        """Somebody asked about the slot: what is shown of a cancelled request lasts so many looks."""
        self.looks_left = max(0, self.looks_left - 1)

    @property
    def free(self) -> bool:
        return not (self.is_processing or self.transferring)

    @property
    def poisoned(self) -> bool:
        """Tokens are registered and nothing lies behind them: the next prompt aborts the process."""
        return bool(self.tokens) and not self.memory.cells

    @property
    def n_past(self) -> int:
        """As engines report it: cached prompt tokens and decoded ones, which after a partial reuse is too few."""
        return self.n_cached + self.n_decoded if self.n_cached else len(self.tokens)

    def wipe(self) -> None:
        """Nothing is left of what the slot held; reservation and work are not its contents and stay."""
        self.memory.clear()
        self.tokens = []
        self.snapshots = ()
        self.restored_logits = None
        self.just_restored = False
        self.n_cached = self.n_decoded = self.n_remain = 0
