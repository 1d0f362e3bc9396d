"""The toy engine: slots, stored results, models and counters, and the answers about them.

Requests and replies are values here; sockets are in `fakes.engine.rpc_server` and `fakes.engine_server`. One engine
is one process; its operations run as generators that say what they wait for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from fakes.effects import Await, Signal
from fakes.engine.config import EngineConfig, Resident
from fakes.engine.entries import Entries
from fakes.engine.kv_stream import KvShape
from fakes.engine.memory import Memory
from fakes.engine.slot import EngineSlot
from fakes.engine.steps import Death
from fakes.engine.work import Speed, Work
from fakes.fault import Player
from fakes.hold import Holds
from fakes.journal import Journal
from fakes.metrics import Counters
from fakes.point import Point
from wire.blob_reader import BlobLimits
from wire.hydra_identity import Identity, encode_identity

S = TypeVar("S")


class Job(Protocol):
    """Work that goes on in the background."""

    def cancel(self) -> object:
        """`ClientGone` is thrown into it where it waits."""


class ProcessEnds(Exception):
    """A fault, or an aborted slot, ends the process here. `death` says whether it comes back at once."""

    def __init__(self, death: Death, why: str) -> None:
        super().__init__(why)
        self.death = death


class Engine:
    """Everything that one engine is. `now` is monotonic seconds; `spawn` starts work that nobody waits for."""

    def __init__(
        self,
        config: EngineConfig,
        journal: Journal,
        player: Player,
        holds: Holds,
        now: Callable[[], float],
        spawn: Callable[[Work[None]], Job],
        log: Callable[[str], None],
    ) -> None:
        self.config = config
        self.journal = journal
        self.player = player
        self.holds = holds
        self.now = now
        self.spawn = spawn
        self.log = log
        self.resident = config.models[0]
        self.entries = Entries()
        self.executions: Counter[str] = Counter()
        self.counters = Counters()
        self.slots = self._empty_slots()
        self._freed = Signal()

    @property
    def speed(self) -> Speed:
        return Speed(self.config.prefill_tps, self.config.decode_tps)

    @property
    def identity(self) -> Identity:
        return self.resident.identity

    @property
    def n_vocab(self) -> int:
        return self.resident.model.spec.vocab

    def limits(self, slot: EngineSlot) -> BlobLimits:
        return BlobLimits(slot.n_ctx, self.n_vocab)

    def shape(self, slot: EngineSlot) -> KvShape:
        return KvShape(self.resident.model.cell_bytes, slot.n_ctx, slot.memory.recurrent_bytes)

    def maybe_slot(self, index: int | None) -> EngineSlot | None:
        return self.slots[index] if index is not None and 0 <= index < len(self.slots) else None

    def at(self, point: Point, step: S) -> S:
        """What is really done at `point`."""
        return self.player.at(point, step)

    def reach(self, point: Point) -> Work[None]:
        """Waits while `point` is held."""
        signal = self.holds.reach(point)
        if signal is not None:
            yield Await(signal)

    def next_freed(self) -> Signal:
        """Set when the next slot is let go."""
        return self._freed

    def let_go(self, slot: EngineSlot) -> None:
        """The slot's work has ended, whichever way."""
        slot.working = ""
        freed, self._freed = self._freed, Signal()
        freed.set()

    def executed(self, op: str, trace: str, slot: int) -> None:
        """Counts that a PREFILL or a DECODE was really started, for each trace id."""
        self.executions[trace] += 1
        self.journal.write("execution", op=op, trace=trace, slot=slot, n=self.executions[trace])

    def swap(self, resident: Resident) -> None:
        """Loads another model; nothing that a slot holds survives it."""
        self.resident = resident
        self.slots = self._empty_slots()
        self.journal.write("swap", alias=resident.alias, model=resident.identity.model_name)

    def maybe_model(self, alias: str) -> Resident | None:
        return next((one for one in self.config.models if one.alias == alias), None)

    def restart(self) -> None:
        """As a process that ended and came back at once: the same engine with nothing in it."""
        self.entries = Entries()
        self.slots = self._empty_slots()
        self.journal.write("restarted")

    def identity_fields(self) -> dict[str, object]:
        return encode_identity(self.identity)

    def slot_view(self, slot: EngineSlot) -> Mapping[str, Any]:
        """One row of `GET /slots`."""
        return {
            "id": slot.id,
            "n_ctx": slot.n_ctx,
            "is_processing": slot.is_processing,
            "n_past": slot.n_past,
            "n_decoded": slot.n_decoded,
            "n_remain": slot.n_remain,
        }

    def _empty_slots(self) -> list[EngineSlot]:
        config, model = self.config, self.resident.model
        return [EngineSlot(index, config.n_ctx, Memory(model)) for index in range(config.n_slots)]
