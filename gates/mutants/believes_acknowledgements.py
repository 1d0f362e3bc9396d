"""A handoff that was acknowledged counts as used; the reply's own counters are not read."""

from router import dispatch
from router.cli import main
from router.proof import Proof, Timings, Use

SUITES = (
    "hybrid_route/restore_unused",
    "router_zoo/older_build_qwen35",
    "router_zoo/sliding_window_gemma3",
    "router_zoo/strict_gemma3",
)


def used(timings: Timings | None, n_prompt: int, n_handed: int) -> Proof:
    return Proof(Use.USED)


def mutate() -> None:
    dispatch.prove = used


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
