"""A slot whose state was fetched stays marked as being transferred."""

from dataclasses import replace

from fakes import engine_server
from fakes.engine import dispatch
from fakes.engine.engine import Engine
from fakes.engine.outcome import Outcome
from fakes.engine.slot import EngineSlot

SUITES = ("hydra_conformance/operations",)
REPLACES = "engine"


def mutate() -> None:
    honest = dispatch.state_get

    def kept(engine: Engine, slot: EngineSlot) -> Outcome:
        return replace(honest(engine, slot), after=None)

    dispatch.state_get = kept


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
