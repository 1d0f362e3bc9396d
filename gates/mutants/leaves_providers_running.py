"""A provider whose request has ended goes on writing."""

from router.cli import main
from router.providers.command import CommandRun

SUITES = (
    "router_invariants/i24_room_goes_to_nobody_while_a_writer_may_write",
    "router_invariants/i13_a_provider_that_never_ends",
    "router_invariants/i34_leaving_while_the_provider_runs",
    "router_invariants/i12_a_dead_decoder_ends_the_provider",
)


async def end(self: CommandRun) -> None:
    return


def mutate() -> None:
    CommandRun.end = end  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
