"""What servers say of themselves, and what speaks against using two of them together."""

from dataclasses import replace

import pytest

from router.facts import Facts

ONE = Facts(2, 1024, "/m.gguf", "b1", "mark", True, (("n_vocab", 10), ("size", 99)))


def test_alike_is_no_difference():
    assert ONE.difference(replace(ONE, n_ctx=2048, build="b2", start_mark="other")) is None


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(ONE, n_slots=4), "2 slots and 4"),
        (replace(ONE, shape=(("n_vocab", 11),)), "the models differ in n_vocab: 10 and 11"),
    ],
)
def test_what_does_not_fit_is_named(other, said):
    assert ONE.difference(other) == said


def test_what_one_does_not_tell_speaks_against_nothing():
    assert ONE.difference(replace(ONE, shape=())) is None


@pytest.mark.parametrize("change", [{"start_mark": "x"}, {"build": "x"}, {"model": "x"}, {"n_slots": 3}, {"n_ctx": 9}])
def test_another_process_behind_the_address_is_noticed(change):
    assert ONE.is_still(replace(ONE, serves_actions=False, shape=()))
    assert not ONE.is_still(replace(ONE, **change))
