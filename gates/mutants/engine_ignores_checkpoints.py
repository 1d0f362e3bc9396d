"""The checkpoint that came with the state is stepped over and not registered."""

from dataclasses import replace

from fakes import engine_server
from fakes.engine import apply, state_ops
from fakes.engine.engine import Engine
from fakes.engine.intake import Delivery
from fakes.engine.slot import EngineSlot

SUITES = ("hydra_decode_apply/v2_checkpoint", "hydra_decode_apply/v3_recurrent_only")
REPLACES = "engine"


def mutate() -> None:
    honest = state_ops.put_into_slot

    def put(engine: Engine, slot: EngineSlot, op: str, delivery: Delivery) -> str:
        return honest(engine, slot, op, replace(delivery, snapshot=None))

    state_ops.put_into_slot = apply.put_into_slot = put


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
