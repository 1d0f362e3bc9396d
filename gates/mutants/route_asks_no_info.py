"""Every engine is sent a merged DECODE; whether INFO lists it is not asked."""

from router.cli import main
from router.deadline import Deadline
from router.engines.engine import Engine
from router.engines.rpc import Session

SUITES = ("hydra_router/state_put",)


async def merged(self: Engine, session: Session, deadline: Deadline) -> bool:
    return True


def mutate() -> None:
    Engine._merged = merged  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
