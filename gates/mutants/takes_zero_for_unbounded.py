"""--max-queue 0 means a queue without an end."""

from router.cli import main
from router.leases import Leases
from router.slots import SlotTable

SUITES = ("router_invariants/i43_zero_has_one_meaning",)


def mutate() -> None:
    honest = Leases.__init__

    def unbounded(self: Leases, table: SlotTable, max_queue: int) -> None:
        honest(self, table, max_queue or 1 << 16)

    Leases.__init__ = unbounded  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
