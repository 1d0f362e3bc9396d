"""A provider whose request has ended is left two seconds to itself."""

import asyncio

from router.cli import main
from router.deadline import happens
from router.providers.command import CommandRun

SUITES = (
    "router_invariants/i12_a_dead_decoder_ends_the_provider",
    "router_invariants/i34_leaving_while_the_provider_runs",
)


def mutate() -> None:
    honest = CommandRun.end

    async def end(self: CommandRun) -> None:
        await asyncio.shield(asyncio.create_task(happens(asyncio.Event(), 2.0)))
        await honest(self)

    CommandRun.end = end  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
