"""One bit of the KV is another one after its restore; tokens, positions and counters are right."""

from dataclasses import replace

from fakes import engine_server
from fakes.engine import apply, state_ops
from fakes.engine.engine import Engine
from fakes.engine.intake import Delivery
from fakes.engine.slot import EngineSlot

SUITES = ("hydra_conformance", "hydra_decode_apply")
REPLACES = "engine"


def mutate() -> None:
    honest = state_ops.put_into_slot

    def put(engine: Engine, slot: EngineSlot, op: str, delivery: Delivery) -> str:
        first, *others = delivery.cells
        damaged = bytes([first[0] ^ 1]) + first[1:]
        return honest(engine, slot, op, replace(delivery, cells=(damaged, *others)))

    state_ops.put_into_slot = apply.put_into_slot = put


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
