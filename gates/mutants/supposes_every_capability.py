"""Every decoder is supposed to know the slot actions."""

from router import facts
from router.cli import main

SUITES = ("router_invariants/i42_a_missing_capability_shows_before_the_first_request",)


def mutate() -> None:
    facts._serves_actions = lambda save: True


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
