"""The shared route does not read the provider's claim: what it exits 0 for is adopted."""

from router.cli import main
from router.routes import shared

SUITES = ("hybrid_kvshare_route/short",)


def mutate() -> None:
    shared.STEPS = tuple(step for step in shared.STEPS if step is not shared.compare_claim)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
