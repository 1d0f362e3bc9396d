"""DECODE reads a kv segment as STATE_PUT reads its payload: v1 is restored."""

from fakes import engine_server
from fakes.engine import intake

SUITES = ("hydra_decode_apply/v1",)
REPLACES = "engine"


def mutate() -> None:
    intake.read_for_decode = intake.read_for_put  # type: ignore[assignment]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
