"""How a fake engine is set up: one frozen value, made once from the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fakes.engine.blobs import BlobForm
from fakes.model import ToyModel
from wire.hydra_identity import Identity


class Generation(Enum):
    """Which of the three DECODEs an engine speaks. Only the merged one is listed by INFO."""

    FRAMES = "frames"
    TEXT = "text"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Resident:
    """A model that an engine can have loaded, under the alias that requests name it by."""

    alias: str
    model: ToyModel
    identity: Identity


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """`models` has the one that is loaded at start first. Speeds are tokens a second, None for instant."""

    models: tuple[Resident, ...]
    n_slots: int = 1
    n_ctx: int = 4096
    prefill_tps: float | None = None
    decode_tps: float | None = None
    form: BlobForm = BlobForm.AUTO
    generation: Generation = Generation.MERGED
    padding: int = 0
    workers: int = 8
    waiting: int = 64
    idle_s: float = 120.0
    hash_payload: bool = True
    metrics: bool = False
