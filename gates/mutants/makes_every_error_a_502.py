"""Whatever a decoder refuses is a bad gateway to the client."""

from typing import Any

from router import relay
from router.cli import main
from router.decoder_client import Upstream
from router.errors import CutOff

SUITES = (
    "router_invariants/i16_errors_keep_their_meaning",
    "router_invariants/i19_an_answer_that_is_the_requests_own_is_not_tried_again",
    "router_invariants/i36_one_bad_request_makes_no_bad_decoder",
)


def mutate() -> None:
    honest = relay._whole

    def whole(upstream: Upstream, *more: Any, **how: Any) -> Any:
        if upstream.status >= 400:
            raise CutOff(f"it answered {upstream.status}")
        return honest(upstream, *more, **how)

    relay._whole = whole


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
