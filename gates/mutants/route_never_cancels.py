"""A DECODE that nobody waits for any more is not cancelled."""

from router.cli import main
from router.engines.results import Stored

SUITES = ("hydra_router/frozen", "hydra_router/decode_dies", "hydra_router/out_of_step")


async def cancel(self: Stored) -> None:
    self.ended = True


def mutate() -> None:
    Stored.cancel = cancel  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
