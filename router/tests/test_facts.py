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


def test_weights_are_compared_where_both_files_could_be_read():
    mine, theirs = replace(ONE, weights="1"), replace(ONE, model="/n.gguf", weights="2")
    assert mine.difference(theirs) == "the models differ in their weights: /m.gguf and /n.gguf"
    assert mine.difference(replace(theirs, weights="1")) is None
    assert mine.difference(ONE) is None
    assert mine.change(replace(mine, weights="2")) == "the models differ in their weights: /m.gguf and /m.gguf"


def test_two_builds_are_remarked_on():
    said = "build b1 saves and build b2 restores: not every build reads another's state files"
    assert ONE.remark(replace(ONE, build="b2")) == said
    assert ONE.remark(ONE) is None
    assert ONE.remark(replace(ONE, build=None)) is None


def test_what_one_does_not_tell_speaks_against_nothing():
    assert ONE.difference(replace(ONE, shape=())) is None
    assert ONE.difference(replace(ONE, shape=(("n_vocab", True), ("size", "99")))) is None


@pytest.mark.parametrize("change", [{"start_mark": "x"}, {"build": "x"}, {"model": "x"}, {"n_slots": 3}, {"n_ctx": 9}])
def test_another_process_behind_the_address_is_noticed(change):
    assert ONE.is_still(replace(ONE, serves_actions=False, shape=(), weights="1"))
    assert not ONE.is_still(replace(ONE, **change))
