"""A router that asks nobody for a key."""

from gates.mutants._in_gates import stand_in
from router.cli import main
from router.keys import KeyRing

REPLACES = "harness"
TESTS = ("gates/test_router_security.py::test_nobody_without_a_key_gets_further_than_health",)


def mutate() -> None:
    KeyRing.admits = lambda self, *given: True  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
