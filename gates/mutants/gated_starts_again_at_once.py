"""A router that starts a child that crashes again and again without a pause."""

from gates.mutants._in_gates import stand_in
from router import supervise
from router.cli import main

REPLACES = "harness"
TESTS = ("gates/test_router_lifecycle.py::test_a_child_that_crashes_is_started_again_with_backoff",)


def mutate() -> None:
    supervise.FIRST_PAUSE_S = supervise.LONGEST_PAUSE_S = 0.01


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
