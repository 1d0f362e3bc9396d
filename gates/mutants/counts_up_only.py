"""What is in flight is counted when it begins and not when it ends."""

from prometheus_client import Gauge

from router.cli import main

SUITES = (
    "router_invariants/i13_a_completion_that_is_never_answered",
    "router_invariants/i21_every_count_comes_back_to_zero",
)


def mutate() -> None:
    Gauge.dec = lambda self, amount=1: None  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
