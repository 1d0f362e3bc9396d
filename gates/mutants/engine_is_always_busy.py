"""STATE_META says of every slot that it is processing."""

from dataclasses import replace

from fakes import engine_server
from fakes.engine import dispatch
from fakes.engine.engine import Engine
from fakes.engine.outcome import Outcome
from fakes.engine.slot import EngineSlot

SUITES = ("hydra_conformance/operations", "hydra_conformance/bad_state", "hydra_decode_apply/hash_mismatch")
REPLACES = "engine"


def mutate() -> None:
    honest = dispatch.state_meta

    def busy(engine: Engine, slot: EngineSlot) -> Outcome:
        outcome = honest(engine, slot)
        return replace(outcome, meta={**outcome.meta, "is_processing": True})

    dispatch.state_meta = busy


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
