"""Whatever a restore is answered with, the slot counts as filled."""

from contextlib import suppress

from router.cli import main
from router.routes import state_file
from router.routes.choose import StepFailed
from router.routes.handoff import Handoff

SUITES = ("hybrid_route/restore_refused",)


async def restore_somehow(handoff: Handoff) -> None:
    with suppress(StepFailed):
        await state_file.restore(handoff)
    handoff.lease.in_doubt = False


def mutate() -> None:
    *others, _restore = state_file.STEPS
    state_file.STEPS = (*others, restore_somehow)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
