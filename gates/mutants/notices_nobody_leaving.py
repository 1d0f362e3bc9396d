"""A client that leaves is noticed when its reply is to be written."""

from typing import Any

from aiohttp import web

from router import lifecycle
from router.cli import main

SUITES = (
    "router_invariants/i34_leaving_queued",
    "router_invariants/i34_leaving_restore",
    "router_invariants/i34_leaving_share",
    "router_invariants/i34_leaving_while_the_provider_runs",
    "router_invariants/i34_leaving_not_streamed",
    "router_invariants/i34_leaving_before_the_first_token",
    "router_invariants/i35_leaving_in_the_handoff_window",
    "router_reports/b32_a_short_prompt_waits_for_no_dead_long_one",
)


def mutate() -> None:
    honest = web.Server.__init__

    def deaf(self: web.Server, *rest: Any, **how: Any) -> None:
        honest(self, *rest, **{**how, "handler_cancellation": False})

    lifecycle.web.Server.__init__ = deaf  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
