"""STATE_PUT answers that bytes which are no state were restored."""

from fakes import engine_server
from fakes.engine import state_ops
from fakes.engine.engine import Engine
from fakes.engine.outcome import Answered, Outcome
from fakes.engine.slot import EngineSlot
from wire.errors import RemoteWireError
from wire.hydra import Status

SUITES = ("hydra_conformance/bad_state", "hydra_decode_apply/raw", "hydra_decode_apply/v1")
REPLACES = "engine"


def restored(engine: Engine, slot: EngineSlot, refused: RemoteWireError) -> Answered:
    slot.wipe()
    return Answered(Outcome(Status.OK, {"restored": True}))


def mutate() -> None:
    state_ops._bad = restored


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
