"""A slot whose request is cancelled is not given back."""

import asyncio

from router.cli import main
from router.leases import Lease
from router.slots import Prompt

SUITES = (
    "router_invariants/i15_one_outcome_for_each_request",
    "router_invariants/i21_every_count_comes_back_to_zero",
    "router_invariants/i22_a_slot_is_given_back_once",
    "router_invariants/i34_leaving_mid_stream",
    "router_invariants/i34_leaving_before_the_first_token",
    "router_reports/b25_clients_that_leave_leak_nothing",
)


def mutate() -> None:
    honest = Lease.release

    def release(self: Lease, holds: Prompt | None) -> None:
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            honest(self, holds)

    Lease.release = release  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
