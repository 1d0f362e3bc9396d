"""A slot that is leased is leased again."""

from router.cli import main
from router.slots import MOVES, Move, Prompt, Slot, SlotTable, State, Where

SUITES = (
    "router_invariants/i22_a_slot_is_given_back_once",
    "router_invariants/i23_a_stream_holds_its_slot_to_its_end",
    "router_invariants/i24_room_goes_to_nobody_while_a_writer_may_write",
    "router_invariants/i29_one_slot_one_request",
    "router_invariants/i34_leaving_queued",
    "router_invariants/i43_zero_has_one_meaning",
)


def the_first(self: SlotTable, prompt: Prompt | None, where: Where = None) -> Slot | None:
    return next((slots[0] for slots in self._slots.values()), None)


def mutate() -> None:
    SlotTable.choose = the_first  # type: ignore[method-assign]
    for state in (State.FREE, State.LEASED):
        MOVES[state, Move.LEASE] = State.LEASED
        MOVES[state, Move.FREE] = State.FREE


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
