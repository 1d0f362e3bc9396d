"""No metric but the gauges of slots and queue ever moves."""

from prometheus_client import Counter, Gauge

from router.cli import main

SUITES = (
    "router_invariants/i16_errors_keep_their_meaning",
    "router_invariants/i33_no_status_before_an_answer_has_begun",
    "router_invariants/i34_leaving_not_streamed",
    "router_invariants/i34_leaving_restore",
    "router_invariants/i34_leaving_share",
    "router_invariants/i35_leaving_in_the_handoff_window",
)


def mutate() -> None:
    Counter.inc = lambda self, amount=1, exemplar=None: None  # type: ignore[method-assign]
    Gauge.inc = lambda self, amount=1: None  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
