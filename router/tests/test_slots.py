"""Slots: which one is chosen, and that an illegal move cannot happen."""

import pytest

from router.slots import MOVES, Move, Prompt, SlotTable, State


def table(*sizes: int) -> SlotTable:
    slots = SlotTable()
    for decoder, n in enumerate(sizes):
        slots.add(decoder, n)
    return slots


def use(slots: SlotTable, tokens: list[int]):
    """A request from lease to end."""
    prompt = Prompt.of_tokens(tokens)
    slot = slots.choose(prompt)
    slots.lease(slot)
    slot.holds = prompt
    slot.move(Move.FREE)
    return slot.decoder, slot.id


def test_the_lowest_free_id_of_an_idle_decoder():
    slots = table(3)
    first = slots.choose(None)
    slots.lease(first)
    assert (first.id, slots.choose(None).id) == (0, 1)


def test_none_when_all_are_leased():
    slots = table(1)
    slots.lease(slots.choose(None))
    assert slots.choose(None) is None


def test_a_session_comes_back_to_its_own_slot():
    slots = table(2)
    a, b = list(range(100)), list(range(500, 600))
    assert use(slots, a) == (0, 0)
    assert use(slots, b) == (0, 1)
    assert use(slots, a + [7] * 40) == (0, 0)
    assert use(slots, b + [9] * 40) == (0, 1)


def test_a_shared_beginning_does_not_evict_a_session():
    """Two sessions with the same system prompt: the second takes an empty slot, though the first holds its start."""
    slots = table(2)
    system = list(range(20))
    assert use(slots, system + list(range(100, 180))) == (0, 0)
    assert use(slots, system + list(range(300, 380))) == (0, 1)


def test_where_nothing_fits_the_one_unused_for_longest_goes():
    slots = table(2)
    use(slots, [1] * 30)
    use(slots, [2] * 30)
    assert use(slots, [3] * 30) == (0, 0)
    assert use(slots, [4] * 30) == (0, 1)


def test_the_less_busy_decoder_among_equals():
    slots = table(2, 2)
    slots.lease(slots.choose(None))
    assert slots.choose(None).decoder == 1


def test_tokens_and_text_are_never_compared():
    assert Prompt.of_tokens([1, 2]).common(Prompt.of_text(b"\x01\x00\x00\x00")) == 0


@pytest.mark.parametrize("n", [0, 1, 2, 7, 63, 64, 65, 1000])
def test_common_beginnings_are_counted_exactly(n):
    whole = list(range(1, 1001))
    other = whole[:n] + [0] * (1000 - n)
    assert Prompt.of_tokens(whole).common(Prompt.of_tokens(other)) == n
    assert Prompt.of_tokens(whole).common(Prompt.of_tokens(whole[:n])) == n


def test_a_doubtful_slot_is_nobodys_until_cleared():
    slots = table(1)
    slot = slots.choose(None)
    slots.lease(slot)
    slot.move(Move.DOUBT)
    assert slots.choose(None) is None
    slot.move(Move.CLEAR)
    assert slots.choose(None) is slot


@pytest.mark.parametrize(
    ("state", "move"),
    [(State.FREE, Move.FREE), (State.LEASED, Move.LEASE), (State.DOUBTFUL, Move.LEASE), (State.GONE, Move.LEASE)],
)
def test_illegal_moves_are_missing_keys(state, move):
    assert (state, move) not in MOVES


def test_a_decoder_that_comes_back_has_new_slots_and_old_leases_do_not_touch_them():
    slots = table(1)
    old = slots.choose(None)
    slots.lease(old)
    slots.drop(0)
    slots.add(0, 1)
    new = slots.choose(None)
    slots.lease(new)
    old.move(Move.FREE)
    assert (old.state, new.state) == (State.GONE, State.LEASED)
    assert slots.choose(None) is None
