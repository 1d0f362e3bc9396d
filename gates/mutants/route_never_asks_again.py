"""A slot that is busy is asked once; nothing is tried a second time."""

from router.cli import main
from router.engines import engine as engines
from router.routes import engine

SUITES = ("hydra_router/busy",)


def mutate() -> None:
    engine.BACKOFF_S = engines.BACKOFF_S = ()  # type: ignore[assignment]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
