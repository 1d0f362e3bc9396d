"""Every request is sent to the decoder twice, as by a replay after it was dispatched."""

from typing import Any

from router.cli import main
from router.dispatch import Dispatcher

SUITES = (
    "hybrid_route/restore_unused",
    "hybrid_route/two_requests",
    "router_reports/b11_an_overloaded_prefill_server_is_named",
    "router_reports/b23_a_prefill_whose_end_is_lost_is_not_bought_again",
)


def mutate() -> None:
    honest = Dispatcher._forward

    async def forward(self: Dispatcher, plan: Any, request: Any, client: Any, seat: Any, exchange: Any) -> Any:
        async with seat.decoder.client.completion(request.endpoint, request.with_fields({}), 30.0) as upstream:
            await upstream.rest(30.0)
        return await honest(self, plan, request, client, seat, exchange)

    Dispatcher._forward = forward  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
