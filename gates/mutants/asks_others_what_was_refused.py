"""What one decoder refuses is asked of the next one too, and answered with the refusal."""

from typing import Any

from router.cli import main
from router.dispatch import Dispatcher

SUITES = ("router_invariants/i19_an_answer_that_is_the_requests_own_is_not_tried_again",)


def mutate() -> None:
    honest = Dispatcher._forward

    async def forward(self: Dispatcher, plan: Any, request: Any, client: Any, seat: Any, exchange: Any) -> Any:
        response = await honest(self, plan, request, client, seat, exchange)
        other = self._decoders.ready()[-1]
        if exchange.status >= 400:
            async with other.client.completion(request.endpoint, request.raw, 30.0) as upstream:
                await upstream.rest(30.0)
        return response

    Dispatcher._forward = forward  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
