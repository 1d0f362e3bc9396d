"""STATE_META says position 0, whatever the slot holds."""

from dataclasses import replace

from fakes import engine_server
from fakes.engine import dispatch
from fakes.engine.engine import Engine
from fakes.engine.outcome import Outcome
from fakes.engine.slot import EngineSlot

SUITES = ("hydra_conformance/operations", "hydra_decode_apply/v1", "hydra_decode_apply/v2")
REPLACES = "engine"


def mutate() -> None:
    honest = dispatch.state_meta

    def at_zero(engine: Engine, slot: EngineSlot) -> Outcome:
        outcome = honest(engine, slot)
        return replace(outcome, meta={**outcome.meta, "n_past": 0})

    dispatch.state_meta = at_zero


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
