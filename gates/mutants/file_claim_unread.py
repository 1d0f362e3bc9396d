"""The state-file route does not read the provider's claim: what it exits 0 for is restored."""

from router.cli import main
from router.routes import state_file

SUITES = ("hybrid_route/claim_short",)


def mutate() -> None:
    state_file.STEPS = tuple(step for step in state_file.STEPS if step is not state_file.compare_claim)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
