"""The status of a stream goes out before its first event has come."""

from router import relay
from router.cli import main
from router.deadline import Deadline

SUITES = (
    "router_invariants/i33_no_status_before_an_answer_has_begun",
    "router_invariants/i33_no_status_for_a_stream_that_never_begins",
)


async def at_once(self: relay._Stream, first_byte: Deadline) -> bytes:
    return b": hello\n\n"


def mutate() -> None:
    relay._Stream._until_begun = at_once  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
