"""A signal ends every request at once."""

import asyncio

from router.cli import main
from router.lifecycle import Lifecycle

SUITES = ("router_invariants/i39_draining_ends_every_request_openly",)


async def at_once(self: Lifecycle, listener: asyncio.Server) -> int:
    return 1


def mutate() -> None:
    Lifecycle._drain = at_once  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
