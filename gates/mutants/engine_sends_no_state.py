"""PREFILL and STATE_GET answer OK and send no state."""

from typing import Any

from fakes import engine_server
from fakes.engine import prefill_op, state_ops
from fakes.engine.blobs import EMPTY, Payload

SUITES = ("hydra_conformance/operations", "hydra_conformance/dripped")
REPLACES = "engine"


def nothing(*_: Any, **__: Any) -> Payload:
    return EMPTY


def mutate() -> None:
    state_ops.slot_blob = prefill_op.slot_blob = nothing


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
