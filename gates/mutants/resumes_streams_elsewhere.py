"""A stream whose decoder gives up is begun again on another one."""

from typing import Any

from router.cli import main
from router.dispatch import Dispatcher
from router.stream_watch import StreamWatch

SUITES = ("router_reports/b24_a_request_to_recompute_is_the_clients_to_hear",)


def mutate() -> None:
    honest, watched = Dispatcher._forward, StreamWatch._event
    given_up: list[bytes] = []

    def event(self: StreamWatch, data: bytes) -> None:
        watched(self, data)
        if b"recomputed" in data:
            given_up.append(data)

    async def forward(self: Dispatcher, plan: Any, request: Any, client: Any, seat: Any, exchange: Any) -> Any:
        response = await honest(self, plan, request, client, seat, exchange)
        if given_up:
            other = self._decoders.ready()[-1]
            async with other.client.completion(request.endpoint, request.raw, 30.0) as upstream:
                await upstream.rest(30.0)
        return response

    Dispatcher._forward, StreamWatch._event = forward, event  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
