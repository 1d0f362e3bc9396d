"""A DECODE that was answered OK counts as one whose state was read."""

from router.cli import main
from router.engines.rpc import Session
from router.engines.transfer import Delivered
from router.routes.engine import EngineHandoff

SUITES = ("hydra_router/out_of_step",)


async def in_step(self: EngineHandoff, session: Session, delivered: Delivered) -> bool:
    return True


def mutate() -> None:
    honest = EngineHandoff._deliver

    async def deliver(self: EngineHandoff, session: Session, *rest: object) -> Delivered:
        delivered = await honest(self, session, *rest)  # type: ignore[arg-type]
        return Delivered(delivered.connection, delivered.head, whole=True, n_bytes=delivered.n_bytes)

    EngineHandoff._deliver = deliver  # type: ignore[method-assign]
    EngineHandoff._in_step = in_step  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
