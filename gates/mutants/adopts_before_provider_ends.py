"""The cells are adopted as soon as the provider was started; it ends, and is judged, afterwards."""

from router.cli import main
from router.routes import shared
from router.routes.handoff import Handoff

SUITES = ("hybrid_kvshare_route/shared", "hybrid_kvshare_route/short")


async def adopt_early(handoff: Handoff) -> None:
    try:
        await shared.adopt(handoff)
    finally:
        await shared.end_provider(handoff)


def mutate() -> None:
    shared.STEPS = (shared.listen, shared.share, shared.start, adopt_early, shared.compare_claim)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
