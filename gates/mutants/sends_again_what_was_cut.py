"""A request whose connection was cut is sent to the next decoder, whoever may have begun it."""

from typing import Any

from router.cli import main
from router.dispatch import Dispatcher
from router.errors import CutOff, DecoderGone

SUITES = ("router_invariants/i17_nothing_is_sent_twice",)


def mutate() -> None:
    honest = Dispatcher._forward

    async def forward(self: Dispatcher, plan: Any, request: Any, client: Any, seat: Any, exchange: Any) -> Any:
        try:
            return await honest(self, plan, request, client, seat, exchange)
        except CutOff as error:
            self._decoders.unreachable(seat.decoder, str(error))
            raise DecoderGone(503, "unavailable_error", str(error)) from None

    Dispatcher._forward = forward  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
