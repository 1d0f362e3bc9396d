"""Slots: which one a request gets, and which moves there are."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.slots import MOVES, IllegalMove, Move, Slot, State, choose, common_prefix, wrapped


def slots(*held: list[int], released: tuple[int, ...] = ()) -> list[Slot]:
    made = [Slot(i, i * 100, 100, array("i", tokens)) for i, tokens in enumerate(held)]
    for slot, t_last in zip(made, released, strict=False):
        slot.t_last = t_last
    return made


def chosen(made: list[Slot], prompt: list[int], similarity: float = 0.1) -> int | None:
    choice = choose(made, array("i", prompt), similarity)
    return None if choice is None else choice.slot.id


def test_a_fresh_server_of_two_slots_starts_with_the_second():
    assert chosen(slots([], []), [1, 2, 3]) == 1


def test_among_used_slots_the_oldest_goes_first():
    assert chosen(slots([1], [2], [3], released=(30, 10, 20)), [9, 9]) == 1


def test_the_longest_common_prefix_wins_and_ties_go_to_the_lowest_id():
    assert chosen(slots([1, 2], [1, 2, 3], [1, 2, 3]), [1, 2, 3, 4]) == 1


@pytest.mark.parametrize(("common", "slot"), [(1, 1), (2, 0)])
def test_a_prefix_counts_only_above_the_threshold(common, slot):
    prompt = list(range(10))
    assert chosen(slots(prompt[:common], [], released=(5,)), prompt) == slot


def test_without_similarity_only_age_counts():
    assert chosen(slots([1, 2], [], released=(5,)), [1, 2], similarity=0.0) == 1


def test_busy_slots_are_not_chosen():
    made = slots([1, 2], [])
    made[0].move(Move.START)
    assert chosen(made, [1, 2]) == 1
    made[1].move(Move.START)
    assert chosen(made, [1, 2]) is None


@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_the_common_prefix_is_the_longest(left, right):
    n = common_prefix(array("i", left), array("i", right))
    assert left[:n] == right[:n]
    assert n == min(len(left), len(right)) or left[n] != right[n]


@pytest.mark.parametrize(("id_slot", "slot"), [(0, 0), (1, 1), (2, 0), (7, 1), (-2, 0), (-3, 1)])
def test_ids_wrap_as_unsigned_64_bit_numbers(id_slot, slot):
    assert wrapped(id_slot, 2) == slot


def test_no_move_but_those_of_the_table():
    for state in State:
        for move in Move:
            slot = Slot(0, 0, 100, state=state, share_id="s")
            if (state, move) in MOVES:
                slot.move(move)
                assert slot.state is MOVES[state, move]
                continue
            with pytest.raises(IllegalMove, match=f"slot 0 is {state.value}: no {move.value}"):
                slot.move(move)
            assert slot.state is state


def test_a_request_does_not_end_a_share():
    slot = Slot(0, 0, 100)
    for move in (Move.SHARE, Move.START, Move.END):
        slot.move(move)
        slot.share_id = "s"
    slot.move(Move.SAVE)
    assert (slot.state, slot.share_id) == (State.LENT, "s")
    slot.move(Move.ERASE)
    assert slot.share_id is None
