"""A slot that is full while tokens are still wanted: without `--context-shift` the reply ends, with it it goes on."""

import pytest

from fakes.tests.stage import Stage

PROMPT = list(range(400, 411))


def stage(*flags, model="toy:bos=0"):
    return Stage("-np", "1", "-c", "256", *flags, model=model)


def complete(one, n_predict, **more):
    return one.complete(PROMPT, n_predict, ignore_eos=True, **more)


def shifts(one):
    return [line.partition("slot context shift, ")[2] for line in one.lines() if "slot context shift" in line]


def test_without_it_a_full_slot_ends_the_reply():
    answer = complete(stage(), 600)
    assert (answer["tokens_predicted"], answer["truncated"], answer["tokens_cached"]) == (245, True, 255)


@pytest.mark.parametrize(
    ("more", "cached", "line", "times"),
    [
        ({}, 229, "n_keep = 0, n_left = 255, n_discard = 127", 3),
        ({"n_keep": 10, "n_discard": 20}, 250, "n_keep = 10, n_left = 245, n_discard = 20", 18),
        ({"n_keep": -1}, 244, "n_keep = 11, n_left = 244, n_discard = 122", 3),
        ({"n_keep": 9999}, 255, "n_keep = 252, n_left = 3, n_discard = 1", 355),
        ({"n_discard": 9999}, 100, "n_keep = 0, n_left = 255, n_discard = 255", 2),
    ],
)
def test_with_it_tokens_behind_the_kept_ones_make_room(more, cached, line, times):
    one = stage("--context-shift")
    answer = complete(one, 600, **more)
    assert (answer["tokens_predicted"], answer["truncated"], answer["stop_type"]) == (600, True, "limit")
    assert shifts(one) == [line] * times
    assert answer["tokens_cached"] == cached


def test_a_token_in_front_of_every_text_is_kept_too():
    one = stage("--context-shift", model="toy")
    complete(one, 300)
    assert shifts(one) == ["n_keep = 1, n_left = 254, n_discard = 127"]


def test_a_reply_that_fits_is_what_it_is_without():
    assert complete(stage("--context-shift"), 200)["tokens"] == complete(stage(), 200)["tokens"]
    answer = complete(stage("--context-shift"), 245)
    assert (answer["tokens"], answer["truncated"]) == (complete(stage(), 245)["tokens"], False)
    assert complete(stage("--context-shift"), 600)["tokens"][:245] == answer["tokens"]


def test_however_it_is_cut_the_tokens_are_the_same():
    whole = complete(stage("--context-shift"), 600)["tokens"]
    assert complete(stage("--context-shift", "--decode-tps", "1000"), 600)["tokens"] == whole


def test_the_answer_is_made_of_the_rows_that_are_left():
    one = stage("--context-shift")
    complete(one, 300)
    slot = one.machine.slots[0]
    held, rows = list(slot.tokens), [bytes(part) for part in one.machine.store.read(slot.first_cell, len(slot.tokens))]
    assert len(held) == 310 - 127
    fresh = stage()
    fresh.complete(held, 1)
    assert [bytes(part) for part in fresh.machine.store.read(0, len(held))] != rows  # they were made behind others
    assert one.complete(held, 1)["timings"]["cache_n"] == len(held) - 1


def test_a_prompt_that_is_too_long_is_refused_all_the_same():
    status, body = stage("--context-shift").post("/completion", {"prompt": [400] * 256})
    assert (status, body["error"]["type"]) == (400, "exceed_context_size_error")
