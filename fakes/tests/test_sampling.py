"""Tokens that are biased, drawn or told of, as requests ask for them."""

from __future__ import annotations

from math import exp

import pytest

from fakes.tests.stage import Stage
from fakes.tokenizer import EOS_ID

PROMPT = [400, 401, 402, 403]
WILD = {"temperature": 5.0, "top_k": 0}


@pytest.fixture
def stage():
    return Stage()


def tokens(stage, n_predict=8, **fields):
    return stage.complete(PROMPT, n_predict, **fields)["tokens"]


def test_telling_of_probabilities_changes_no_token(stage):
    assert tokens(stage, n_probs=3) == tokens(stage) == tokens(stage, temperature=0, seed=5)


def test_a_temperature_without_a_seed_draws_nothing(stage):
    assert tokens(stage, **WILD) == tokens(stage)


def test_the_seed_decides_the_draw_and_nothing_else_does():
    drawn = [tuple(tokens(Stage(), 16, seed=seed, **WILD)) for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 4


def test_a_seed_may_come_from_the_command_line():
    seeded = tokens(Stage("-s", "7"), **WILD)
    assert seeded == tokens(Stage(), seed=7, **WILD) != tokens(Stage(), **WILD)


def test_another_prompt_draws_others(stage):
    assert tokens(stage, seed=1, **WILD) != stage.complete([500, 501], 8, seed=1, **WILD)["tokens"]


def test_top_k_one_is_greedy(stage):
    assert tokens(stage, seed=1, temperature=9, top_k=1) == tokens(stage)


def test_a_bias_forces_or_forbids(stage):
    first = tokens(stage, 1)[0]
    assert tokens(stage, logit_bias=[[777, 1000]]) == [777] * 8
    assert tokens(stage, logit_bias={"777": 1000}) == [777] * 8
    assert tokens(stage, 1, logit_bias=[[first, False]]) != [first]


def test_a_text_is_biased_by_each_of_its_tokens(stage):
    ids = stage.machine.model.tokenizer.encode(" winter summer")
    told = stage.complete(PROMPT, 1, logit_bias=[[" winter summer", 1.5]])["generation_settings"]["logit_bias"]
    assert told == [{"bias": 1.5, "token": token} for token in ids]


@pytest.mark.parametrize("bias", [5, "x", [["a"]], [[1, True]], [[99_999_999, 2]], [[-1, 2]], [[1.5, 2]], {}, None])
def test_what_is_no_bias_is_passed_over(stage, bias):
    answer = stage.complete(PROMPT, 3, logit_bias=bias)
    assert answer["generation_settings"]["logit_bias"] == []
    assert answer["tokens"] == tokens(stage, 3)


def test_the_end_of_text_may_be_forced_unless_it_is_ignored(stage):
    ended = stage.complete(PROMPT, 5, logit_bias=[[EOS_ID, 1000]])
    assert (ended["stop_type"], ended["tokens_predicted"], ended["content"]) == ("eos", 1, "")
    goes_on = stage.complete(PROMPT, 5, logit_bias=[[EOS_ID, 1000]], ignore_eos=True)
    assert (goes_on["stop_type"], goes_on["tokens_predicted"]) == ("limit", 5)
    assert goes_on["generation_settings"]["logit_bias"][-1] == {"bias": None, "token": EOS_ID}


def test_each_token_is_told_of_with_the_likeliest(stage):
    answer = stage.complete(PROMPT, 3, n_probs=4)
    told = answer["completion_probabilities"]
    assert [each["id"] for each in told] == answer["tokens"]
    for each in told:
        likeliest = each["top_logprobs"]
        assert [one["logprob"] for one in likeliest] == sorted((one["logprob"] for one in likeliest), reverse=True)
        assert (likeliest[0]["id"], likeliest[0]["logprob"]) == (each["id"], each["logprob"])
        assert 0 < sum(exp(one["logprob"]) for one in likeliest) <= 1
        assert bytes(each["bytes"]).decode() == each["token"]


def test_after_sampling_they_are_probabilities(stage):
    greedy = stage.complete(PROMPT, 1, n_probs=2, post_sampling_probs=True)["completion_probabilities"]
    assert [(each["prob"], len(each["top_probs"])) for each in greedy] == [(1.0, 1)]
    drawn = stage.complete(PROMPT, 1, n_probs=2, post_sampling_probs=True, seed=1, temperature=1.0)
    (told,) = drawn["completion_probabilities"]
    assert told["id"] == drawn["tokens"][0]
    assert 0 < told["prob"] < 1
    assert len(told["top_probs"]) == 2


def test_what_is_cut_from_the_text_is_not_told_of(stage):
    whole = stage.complete(PROMPT, 6, n_probs=1)
    third = whole["completion_probabilities"][2]["token"]
    cut = stage.complete(PROMPT, 6, n_probs=1, stop=[third])
    assert [each["id"] for each in cut["completion_probabilities"]] == whole["tokens"][:2]


def test_a_streamed_piece_has_its_own(stage):
    body = {"prompt": PROMPT, "n_predict": 3, "stream": True, "n_probs": 2}
    *pieces, last = stage.start("POST", "/completion", body).events
    assert [[each["id"] for each in piece["completion_probabilities"]] for piece in pieces] == [
        piece["tokens"] for piece in pieces
    ]
    assert "completion_probabilities" not in last


def test_openai_names_of_a_text(stage):
    body = {"prompt": PROMPT, "n_predict": 2, "logprobs": 3}
    (choice,) = stage.post("/v1/completions", body)[1]["choices"]
    assert [len(each["top_logprobs"]) for each in choice["logprobs"]["content"]] == [3, 3]
    first, *_ = stage.start("POST", "/v1/completions", body | {"stream": True}).events
    assert len(first["choices"][0]["logprobs"]["content"]) == 1


def test_openai_names_of_a_chat(stage):
    body = {"messages": [{"role": "user", "content": "Name a river."}], "max_tokens": 2}
    wanted = {"logprobs": True, "top_logprobs": 2}
    (choice,) = stage.post("/v1/chat/completions", body | wanted)[1]["choices"]
    assert [len(each["top_logprobs"]) for each in choice["logprobs"]["content"]] == [2, 2]
    (choice,) = stage.post("/v1/chat/completions", body | {"logprobs": True})[1]["choices"]
    assert [len(each["top_logprobs"]) for each in choice["logprobs"]["content"]] == [20, 20]
    assert "logprobs" not in stage.post("/v1/chat/completions", body)[1]["choices"][0]
    status, answer = stage.post("/v1/chat/completions", body | {"top_logprobs": 2})
    assert (status, answer["error"]["message"]) == (400, "top_logprobs requires logprobs to be set to true")


def test_a_streamed_chat_tells_of_each_piece(stage):
    body = {"messages": [{"role": "user", "content": "Name a river."}], "max_tokens": 2, "stream": True}
    opening, *pieces, _, _ = stage.start("POST", "/v1/chat/completions", body | {"logprobs": True}).events
    assert "logprobs" not in opening["choices"][0]
    assert [len(piece["choices"][0]["logprobs"]["content"]) for piece in pieces] == [1, 1]


@pytest.mark.parametrize("field", ["n_probs", "top_k", "seed", "temperature"])
def test_a_field_of_a_wrong_type_is_refused(stage, field):
    status, answer = stage.post("/completion", {"prompt": PROMPT, field: "x"})
    assert status == 400
    assert answer["error"]["message"] == (
        f"Field '{field}': [json.exception.type_error.302] type must be number, but is string"
    )


@pytest.mark.parametrize(
    ("given", "shown"), [({"top_k": -5}, ("top_k", 0)), ({"temperature": -1}, ("temperature", 0.0))]
)
def test_what_is_below_zero_is_shown_as_zero(stage, given, shown):
    name, value = shown
    assert stage.complete(PROMPT, 1, **given)["generation_settings"][name] == value


@pytest.mark.parametrize(
    "extreme", [{"n_probs": 100_000}, {"n_probs": -1}, {"temperature": 1e30, "seed": 1}, {"seed": 1e300}]
)
def test_extreme_wishes_are_answered(stage, extreme):
    assert stage.post("/completion", {"prompt": PROMPT, "n_predict": 1, **extreme})[0] == 200
