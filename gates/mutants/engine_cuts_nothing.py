"""KV behind the position where a prompt goes on is never removed."""

from fakes import engine_server
from fakes.engine.memory import Memory

SUITES = ("hydra_decode_apply/raw", "hydra_decode_apply/rows", "hydra_decode_apply/believed_once")
REPLACES = "engine"


def mutate() -> None:
    Memory.cut = lambda self, n_cells: None  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
