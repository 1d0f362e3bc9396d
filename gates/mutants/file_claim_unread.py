"""The state-file route reads neither the provider's claim nor the file: what it exits 0 for is restored."""

from router.cli import main
from router.routes import state_file

SUITES = (
    "hybrid_route/claim_short",
    "router_invariants/i03_rows_are_compared_before_the_first_token",
    "router_reports/b15_a_prefill_that_leaves_nothing_is_told_at_once",
)


def mutate() -> None:
    left_out = state_file.compare_claim, state_file.inspect_file
    state_file.STEPS = tuple(step for step in state_file.STEPS if step not in left_out)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
