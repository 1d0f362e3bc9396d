"""A 503 does not say when to come again."""

from aiohttp import web

from router import server
from router.cli import main
from router.errors import Refusal
from router.exchange import Exchange

SUITES = ("router_invariants/i40_a_request_in_a_gap_is_answered_at_once", "router_invariants/i43_zero_has_one_meaning")


def mutate() -> None:
    honest = server.refused

    def refused(refusal: Refusal, exchange: Exchange | None = None) -> web.Response:
        response = honest(refusal, exchange)
        response.headers.pop("Retry-After", None)
        return response

    server.refused = refused


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
