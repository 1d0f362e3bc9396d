"""STATE_PUT refuses all state, good state too."""

from typing import NoReturn

from fakes import engine_server
from fakes.engine import dispatch
from fakes.engine.engine import Engine
from fakes.engine.outcome import Answered, Outcome
from fakes.engine.slot import EngineSlot
from wire.hydra import Status

SUITES = ("hydra_conformance", "hydra_decode_apply/v1")
REPLACES = "engine"


def refuse(engine: Engine, slot: EngineSlot, payload_len: int, *, heeds_reservation: bool) -> NoReturn:
    raise Answered(Outcome(Status.BAD_REQUEST))


def mutate() -> None:
    dispatch.begin_state_put = refuse


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
