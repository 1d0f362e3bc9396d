"""A provider that fails or is killed counts as one that has done its work, and its file is not looked at."""

from router.cli import main
from router.providers.provider import Prefilled
from router.routes import shared, state_file
from router.routes.choose import StepFailed
from router.routes.handoff import Handoff

SUITES = ("hybrid_route/provider_fails", "hybrid_route/provider_killed")


async def end_somehow(handoff: Handoff) -> None:
    try:
        await shared.end_provider(handoff)
    except StepFailed:
        handoff.prefilled = Prefilled(None, 0.0)


def mutate() -> None:
    for route in (shared, state_file):
        route.STEPS = tuple(end_somehow if step is route.end_provider else step for step in route.STEPS)
    state_file.STEPS = tuple(step for step in state_file.STEPS if step is not state_file.inspect_file)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
