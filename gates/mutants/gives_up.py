"""A handoff that fails ends the request: nothing is tried instead."""

from dataclasses import replace

from router.cli import main
from router.routes import choose

SUITES = (
    "hybrid_kvshare_route",
    "hybrid_route/provider_fails",
    "hybrid_route/provider_killed",
    "hybrid_route/restore_refused",
    "hybrid_route/claim_short",
    "hydra_router/other_prompt",
    "hybrid_e2e/kv_share",
    "router_reports/b03_answers_of_a_poisoned_decoder_are_marked",
    "router_reports/b15_a_prefill_that_leaves_nothing_is_told_at_once",
    "router_invariants/i03_rows_are_compared_before_the_first_token",
    "router_invariants/i05_a_prefill_by_the_decoder_is_named",
    "router_invariants/i06_a_second_payment_is_told",
    "router_invariants/i09_a_slot_is_cleared_after_a_refused_adopt",
    "router_invariants/i12_a_dead_provider_frees_the_other_leg",
)


def mutate() -> None:
    for pair, row in choose.TABLE.items():
        if row.next in (choose.Next.PLAIN, choose.Next.STATE_FILE):
            choose.TABLE[pair] = replace(row, next=choose.Next.UNAVAILABLE)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
