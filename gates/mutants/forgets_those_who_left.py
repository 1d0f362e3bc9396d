"""A request whose client has left has no outcome."""

from router.cli import main
from router.exchange import Ending, Exchange
from router.metrics import Metrics

SUITES = ("router_invariants/i15_one_outcome_for_each_request",)


def mutate() -> None:
    honest = Exchange.finish

    def finish(self: Exchange, ending: Ending, metrics: Metrics) -> None:
        if ending is not Ending.CANCELLED:
            honest(self, ending, metrics)

    Exchange.finish = finish  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
