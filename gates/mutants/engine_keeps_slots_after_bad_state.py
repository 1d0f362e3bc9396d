"""State that is refused leaves the slot as it was, with what it held before."""

from fakes import engine_server
from fakes.engine import decode_op, state_ops
from fakes.engine.decode_op import MergedDecode
from fakes.engine.engine import Engine
from fakes.engine.outcome import Answered, Outcome
from fakes.engine.slot import EngineSlot
from wire.errors import RemoteWireError
from wire.hydra import Status

SUITES = ("hydra_conformance/bad_state", "hydra_decode_apply/v1", "hydra_decode_apply/hash_mismatch")
REPLACES = "engine"


def refused_only(engine: Engine, slot: EngineSlot, refused: RemoteWireError) -> Answered:
    return Answered(Outcome(Status.BAD_REQUEST, {"error": str(refused)}))


def mutate() -> None:
    state_ops._bad = refused_only
    MergedDecode._bad_blob_or_frame = lambda self, error: decode_op._bad_request(str(error))  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
