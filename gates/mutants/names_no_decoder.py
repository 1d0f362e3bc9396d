"""A request's last line does not say which decoder and slot served it, nor what was paid twice."""

from typing import Any

from router.cli import main
from router.log import Log

SUITES = (
    "router_invariants/i20_the_decoder_that_served_is_named",
    "router_invariants/i06_a_second_payment_is_told",
    "router_invariants/i15_one_outcome_for_each_request",
)


def served(self: Log, text: str, **fields: Any) -> None:
    self.says("a request has ended")


def mutate() -> None:
    Log.served = served  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
