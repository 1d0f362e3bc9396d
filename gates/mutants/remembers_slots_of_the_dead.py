"""A decoder that comes back is believed to hold what the one before it held."""

from router.cli import main
from router.slots import Slot, SlotTable

SUITES = ("router_invariants/i28_warm_is_what_lives_in_this_process",)


def mutate() -> None:
    honest = SlotTable.add
    kept: dict[int, tuple[Slot, ...]] = {}

    def add(self: SlotTable, decoder: int, n_slots: int) -> None:
        honest(self, decoder, n_slots)
        for old, new in zip(kept.get(decoder, ()), self._slots[decoder], strict=False):
            new.holds = old.holds
        kept[decoder] = self._slots[decoder]

    def drop(self: SlotTable, decoder: int) -> None:
        self._slots.pop(decoder, None)

    SlotTable.add, SlotTable.drop = add, drop  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
