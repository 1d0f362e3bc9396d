"""DECODE is an operation that the engine does not know, though INFO lists it: it answers ERROR."""

from typing import Any, NoReturn

from fakes import engine_server
from fakes.engine import dispatch
from fakes.engine.outcome import Answered, Outcome
from wire.hydra import Status

SUITES = ("hydra_decode_apply",)
REPLACES = "engine"


def unknown(*_: Any) -> NoReturn:
    raise Answered(Outcome(Status.ERROR))


def mutate() -> None:
    dispatch._decode = unknown


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
