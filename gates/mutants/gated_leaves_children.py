"""A router that is killed leaves its children."""

from gates.mutants._in_gates import stand_in
from router.cli import main
from router.guard import Guard

REPLACES = "harness"
TESTS = ("gates/test_router_kills.py::test_the_router_is_killed[provider]",)


def mutate() -> None:
    Guard.start = Guard.dismiss = lambda self: None  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
