"""No prompt is ever handed over; the decoder prefills all of them itself."""

from router.cli import main
from router.decoders import Decoder
from router.exchange import Exchange
from router.plans import HandOver, Plain, Planner
from router.request_body import ClientRequest, Why

SUITES = ("hybrid_kvshare_route", "hybrid_route", "hybrid_e2e", "parity", "router_zoo")


async def plan(self: Planner, request: ClientRequest, exchange: Exchange, decoders: list[Decoder]) -> HandOver | Plain:
    return Plain(Why.NO_PROVIDER, self.text(request))


def mutate() -> None:
    Planner.plan = plan  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
