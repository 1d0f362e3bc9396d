"""A provider is started once more when it has ended, whatever came of it: its prefill is paid twice."""

from contextlib import suppress

from router.cli import main
from router.routes import shared, state_file
from router.routes.choose import StepFailed
from router.routes.handoff import Handoff

SUITES = (
    "hybrid_kvshare_route/adopt_refused",
    "hybrid_route/provider_fails",
    "router_invariants/i19_an_answer_that_is_the_requests_own_is_not_tried_again",
    "router_reports/b11_an_overloaded_prefill_server_is_named",
    "router_reports/b23_a_prefill_whose_end_is_lost_is_not_bought_again",
    "router_invariants/i06_a_second_payment_is_told",
    "router_invariants/i06_one_prefill_is_enough",
)


async def end_and_start_again(handoff: Handoff) -> None:
    with suppress(StepFailed):
        await shared.end_provider(handoff)
    handoff.around.permits.release()
    start = shared.start if handoff.file is None else state_file.start
    await start(handoff)
    await shared.end_provider(handoff)


def mutate() -> None:
    for route in (shared, state_file):
        route.STEPS = tuple(end_and_start_again if step is route.end_provider else step for step in route.STEPS)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
