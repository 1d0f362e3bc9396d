"""A stream that breaks is continued by the decoder that is asked next."""

from typing import Any

from router import relay
from router.cli import main
from router.dispatch import Dispatcher
from router.exchange import Ending

SUITES = ("router_invariants/i18_nothing_is_spliced_after_the_first_byte",)


def mutate() -> None:
    honest, broken = Dispatcher._forward, relay._Stream._break

    async def forward(self: Dispatcher, plan: Any, request: Any, client: Any, seat: Any, exchange: Any) -> Any:
        response = await honest(self, plan, request, client, seat, exchange)
        if exchange.ending_to_be is Ending.BROKEN:
            other = next(each for each in self._decoders.ready() if each is not seat.decoder)
            async with other.client.completion(request.endpoint, request.raw, 30.0) as upstream:
                await response.write(await upstream.rest(30.0))
            await response.write_eof()
            exchange.ending_to_be = Ending.SERVED
        return response

    async def leave_open(self: Any, response: Any, why: str) -> Any:
        transport, self._client._transport = self._client.transport, None
        try:
            return await broken(self, response, why)
        finally:
            self._client._transport = transport

    Dispatcher._forward = forward  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
