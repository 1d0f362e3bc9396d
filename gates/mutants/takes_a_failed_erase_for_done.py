"""A slot counts as empty when an erase was asked for, whatever it was answered."""

from router.cli import main
from router.dispatch import Dispatcher, Seat
from router.exchange import Exchange

SUITES = ("router_invariants/i09_a_slot_that_cannot_be_cleared_is_left_alone",)


def mutate() -> None:
    honest = Dispatcher._erase

    async def erase(self: Dispatcher, seat: Seat, exchange: Exchange) -> bool:
        await honest(self, seat, exchange)
        seat.lease.in_doubt = False
        return True

    Dispatcher._erase = erase  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
