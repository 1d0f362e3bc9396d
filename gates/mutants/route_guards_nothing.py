"""State counts as of the receiver's own model, whatever model it is of."""

from router.cli import main
from router.engines.engine import Look
from router.routes.engine import EngineHandoff

SUITES = ("hydra_router/other_model", "hydra_router/merged", "hydra_router/unknown_model")


def guard(self: EngineHandoff, look: Look) -> None:
    self._identity = look.identity


def mutate() -> None:
    EngineHandoff._guard = guard  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
