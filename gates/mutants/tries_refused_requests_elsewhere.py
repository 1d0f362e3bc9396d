"""What one decoder refuses is asked of the next one."""

from typing import Any

from router import dispatch
from router.cli import main
from router.errors import Unreachable

SUITES = (
    "router_invariants/i19_an_answer_that_is_the_requests_own_is_not_tried_again",
    "router_invariants/i36_one_bad_request_makes_no_bad_decoder",
)


def mutate() -> None:
    honest = dispatch.relay

    async def relay(upstream: Any, *more: Any, **how: Any) -> Any:
        if upstream.status >= 400:
            raise Unreachable(f"it answered {upstream.status}")
        return await honest(upstream, *more, **how)

    dispatch.relay = relay


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
