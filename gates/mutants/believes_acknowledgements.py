"""A handoff that was acknowledged counts as used; the reply's own counters are not read."""

from router import dispatch
from router.cli import main
from router.proof import Proof, Timings, Use

SUITES = (
    "hybrid_route/restore_unused",
    "router_zoo/older_build_qwen35",
    "router_zoo/sliding_window_gemma3",
    "router_zoo/strict_gemma3",
    "router_reports/b05_rows_that_a_reset_threw_away_are_missed",
    "router_reports/b27_a_pin_that_is_ignored_is_noticed",
    "hydra_router/not_used",
    "router_invariants/i02_an_acknowledgement_is_no_evidence",
)


def used(timings: Timings | None, n_prompt: int, n_handed: int) -> Proof:
    return Proof(Use.USED)


def mutate() -> None:
    dispatch.prove = used


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
