"""Copies of slots in the host's memory."""

from __future__ import annotations

from array import array

from fakes.prompt_cache import PromptCache
from fakes.tests.stage import Stage

ONE, OTHER = [300 + i for i in range(49)], [700 + i for i in range(49)]


def ids(*tokens):
    return array("i", tokens)


def rows(n_tokens, size=8):
    return [b"r" * size * n_tokens] * 2


def timings(answer):
    return answer["timings"]["cache_n"], answer["timings"]["prompt_n"]


def test_a_prompt_that_a_slot_has_lost_comes_back_with_its_rows():
    stage = Stage("--cache-ram", "10")
    cold = stage.complete(ONE, id_slot=0)
    stage.complete(OTHER, id_slot=0)
    warm = stage.complete(ONE, id_slot=0)
    assert timings(warm) == (48, 1)
    assert warm["tokens"] == cold["tokens"]


def test_without_the_cache_what_is_lost_is_lost():
    stage = Stage("--cache-ram", "0")
    stage.complete(ONE, id_slot=0)
    stage.complete(OTHER, id_slot=0)
    assert timings(stage.complete(ONE, id_slot=0)) == (0, 49)


def test_an_empty_slot_that_is_asked_for_does_not_look_there():
    stage = Stage("--cache-ram", "10")
    stage.complete(ONE, id_slot=0)
    stage.complete(OTHER, id_slot=0)
    stage.post("/slots/0?action=erase")
    assert timings(stage.complete(ONE, id_slot=0)) == (0, 49)


def test_the_slot_that_was_idle_longest_looks_there():
    stage = Stage("--cache-ram", "10")
    stage.complete(ONE, id_slot=0)
    stage.complete(OTHER, id_slot=0)
    for slot in (0, 1):
        stage.post(f"/slots/{slot}?action=erase")
    assert timings(stage.complete(ONE)) == (48, 1)


def test_the_cells_of_a_share_are_left_alone():
    stage = Stage("--cache-ram", "10")
    stage.complete(ONE, id_slot=0)
    stage.complete(OTHER, id_slot=0)
    stage.share(0, 49)
    assert timings(stage.complete(ONE, id_slot=0)) == (0, 49)


def test_a_copy_is_taken_only_where_it_is_better_than_the_slot():
    cache = PromptCache(-1)
    cache.keep(ids(1, 2, 3, 4), rows(4))
    assert cache.take(ids(1, 2, 3, 4, 5), ids(1, 2, 3, 4, 5)) is None
    assert cache.take(ids(1, 9, 9, 9), ids(1, 2, 3, 4, 5)).tokens == ids(1, 2, 3, 4)
    assert cache.take(ids(), ids(1, 2, 3, 4, 5)) is None, "what was taken is gone"


def test_less_than_a_quarter_of_a_copy_is_not_worth_it():
    cache = PromptCache(-1)
    cache.keep(ids(*range(9)), rows(9))
    assert cache.take(ids(), ids(0, 1, 77)) is None
    assert cache.take(ids(), ids(0, 1, 2, 77)) is not None


def test_a_copy_that_another_begins_with_is_forgotten():
    cache = PromptCache(-1)
    cache.keep(ids(1, 2), rows(2))
    cache.keep(ids(1, 2, 3), rows(3))
    assert cache.has(ids(1, 2))
    assert cache.take(ids(), ids(1, 2)).tokens == ids(1, 2, 3)
    assert not cache.has(ids(1, 2))


def test_the_oldest_go_beyond_the_limit():
    cache = PromptCache(1)
    for token in (1, 2, 3):
        cache.keep(ids(token, token), rows(2, size=150_000))
    assert [cache.has(ids(token, token)) for token in (1, 2, 3)] == [False, False, True]
