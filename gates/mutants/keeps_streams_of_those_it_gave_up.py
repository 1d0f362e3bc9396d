"""A reply that nobody waits for any more is not closed."""

from router.cli import main
from router.connection import Connection, Pool

SUITES = (
    "router_invariants/i33_no_status_for_a_stream_that_never_begins",
    "router_invariants/i34_leaving_mid_stream",
    "router_invariants/i34_leaving_not_streamed",
    "router_invariants/i34_leaving_before_the_first_token",
    "router_invariants/i34_leaving_restore",
    "router_invariants/i34_leaving_share",
    "router_invariants/i35_leaving_in_the_handoff_window",
)


def mutate() -> None:
    honest = Pool.give_back

    def give_back(self: Pool, connection: Connection) -> None:
        if connection.may_reuse:
            honest(self, connection)

    Pool.give_back = give_back  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
