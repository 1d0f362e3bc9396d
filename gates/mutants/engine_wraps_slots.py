"""A slot that is not there is another one: its number wraps around."""

from fakes import engine_server
from fakes.engine.engine import Engine
from fakes.engine.slot import EngineSlot

SUITES = ("hydra_conformance/operations",)
REPLACES = "engine"


def maybe_slot(self: Engine, index: int | None) -> EngineSlot | None:
    return None if index is None else self.slots[index % len(self.slots)]


def mutate() -> None:
    Engine.maybe_slot = maybe_slot  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
