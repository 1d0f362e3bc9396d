"""The decoder of the router's own is started twice."""

from typing import Any

from router.cli import main
from router.supervise import Supervisor

SUITES = ("router_invariants/i38_a_killed_router_leaves_no_child",)


def mutate() -> None:
    honest = Supervisor._start

    async def start(self: Supervisor) -> Any:
        await honest(self)
        return await honest(self)

    Supervisor._start = start  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
