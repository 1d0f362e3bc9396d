"""Section 6.1: stopping, probabilities, bias and seeds."""

from __future__ import annotations

from typing import Any

from harness.conform.clause import Clause, NotSeen, demand, expect, probed
from harness.conform.match import keys
from harness.conform.target import Target
from harness.conform.wire_client import post

_ITEM = keys("id token bytes logprob top_logprobs")
_TOP = keys("id token bytes logprob")


async def _reply(t: Target, prompt: list[int], n: int = 6, **fields: Any) -> dict[str, Any]:
    return await t.complete(prompt, n, return_tokens=True, cache_prompt=False, **fields)


async def _worded(t: Target, n: int = 6) -> tuple[list[int], list[str]]:
    """A prompt and the texts of its reply's tokens, each a word of its own. NotSeen: no reply is like that."""
    for _ in range(10):
        prompt = t.prompt(12)
        tokens = (await _reply(t, prompt, n))["tokens"]
        pieces = [(await t.json(post("/detokenize", {"tokens": [token]})))["content"] for token in tokens]
        if len(set(pieces)) == n and all(piece.strip().isalpha() for piece in pieces):
            return prompt, pieces
    raise NotSeen("no reply is made of words that differ")


async def stop_word(t: Target) -> None:
    """A stop word ends the reply; it and what follows are cut from the content."""
    prompt, pieces = await _worded(t)
    answer = await _reply(t, prompt, stop=[pieces[3]])
    expect(answer, {"stop_type": "word", "stopping_word": pieces[3], "content": "".join(pieces[:3])})


async def stop_text(t: Target) -> None:
    """stop may be a text instead of a list."""
    prompt, pieces = await _worded(t)
    expect(await _reply(t, prompt, stop=pieces[2]), {"stop_type": "word", "stopping_word": pieces[2]})


async def stop_counts(t: Target) -> None:
    """The tokens of a stop word count as predicted."""
    prompt, pieces = await _worded(t)
    expect((await _reply(t, prompt, stop=[pieces[3]]))["tokens_predicted"], 4, "tokens_predicted")


async def stop_echo(t: Target) -> None:
    """generation_settings shows the stop words."""
    settings = (await t.complete([400, 401], 1, stop=["otter", "river"]))["generation_settings"]
    expect(settings["stop"], ["otter", "river"], "stop")


async def probabilities(t: Target) -> None:
    """n_probs adds completion_probabilities: an entry for each token, with the likeliest."""
    answer = await _reply(t, t.prompt(12), 3, n_probs=2)
    found = answer["completion_probabilities"]
    expect([each["id"] for each in found], answer["tokens"], "the ids")
    for each in found:
        expect(each, _ITEM, "an entry")
        expect(each, {"id": int, "token": str, "bytes": list, "logprob": float}, "an entry")
        for one in each["top_logprobs"]:
            expect(one, _TOP, "one of the likeliest")


async def likeliest_first(t: Target) -> None:
    """At temperature 0 the token itself is the likeliest, and the likeliest come in order."""
    for each in (await _reply(t, t.prompt(12), 4, n_probs=4))["completion_probabilities"]:
        top = each["top_logprobs"]
        expect(len(top), 4, "how many there are")
        expect(top[0]["id"], each["id"], "the first of the likeliest")
        values = [one["logprob"] for one in top]
        demand(values == sorted(values, reverse=True) and values[0] <= 0, f"the logprobs are {values}")
        demand(abs(top[0]["logprob"] - each["logprob"]) < 1e-3, "its logprob is another than the token's")


async def sum_to_one(t: Target) -> None:
    """Probabilities of the likeliest are no more than 1 together."""
    import math

    for each in (await _reply(t, t.prompt(12), 2, n_probs=10))["completion_probabilities"]:
        total = sum(math.exp(one["logprob"]) for one in each["top_logprobs"])
        demand(0 < total <= 1.001, f"they are {total} together")


async def probabilities_bytes(t: Target) -> None:
    """An entry's bytes are those of its token."""
    for each in (await _reply(t, t.prompt(12), 3, n_probs=1))["completion_probabilities"]:
        expect(bytes(each["bytes"]).decode(errors="replace"), each["token"], "its bytes")


async def cut_probabilities(t: Target) -> None:
    """What a stop word cuts from the content is not among the entries."""
    prompt, pieces = await _worded(t)
    answer = await _reply(t, prompt, stop=[pieces[3]], n_probs=1)
    expect([each["token"] for each in answer["completion_probabilities"]], pieces[:3], "the tokens of the entries")


async def post_sampling(t: Target) -> None:
    """With post_sampling_probs the names are prob and top_probs."""
    answer = await _reply(t, t.prompt(12), 2, n_probs=2, post_sampling_probs=True)
    for each in answer["completion_probabilities"]:
        expect(each, keys("id token bytes prob top_probs"), "an entry")
        demand(0 <= each["prob"] <= 1, f"prob is {each['prob']}")


async def no_probabilities(t: Target) -> None:
    """Without n_probs there are no completion_probabilities."""
    demand("completion_probabilities" not in await _reply(t, t.prompt(12), 2), "they are there")


async def banned(t: Target) -> None:
    """A logit_bias of false keeps a token from being chosen."""
    prompt = t.prompt(12)
    first = (await _reply(t, prompt, 1))["tokens"][0]
    other = (await _reply(t, prompt, 1, logit_bias=[[first, False]]))["tokens"][0]
    demand(other != first, f"token {first} was chosen")


async def forced(t: Target) -> None:
    """A large logit_bias makes a token the choice."""
    wanted = t.prompt(1)[0]
    answer = await _reply(t, t.prompt(12), 3, logit_bias=[[wanted, 1000.0]])
    expect(answer["tokens"], [wanted] * 3, "tokens")


async def forced_by_object(t: Target) -> None:
    """logit_bias may be an object of ids."""
    wanted = t.prompt(1)[0]
    answer = await _reply(t, t.prompt(12), 2, logit_bias={str(wanted): 1000.0})
    expect(answer["tokens"], [wanted] * 2, "tokens")


async def bias_echo(t: Target) -> None:
    """generation_settings shows the biases."""
    body = {"prompt": [400, 401], "n_predict": 1, "logit_bias": [[700, 1.5]]}
    settings = (await t.json(post("/completion", body)))["generation_settings"]
    expect(settings["logit_bias"], [{"bias": 1.5, "token": 700}], "logit_bias")


async def ignored_echo(t: Target) -> None:
    """With ignore_eos they hold the end-of-text token too, with a bias of null."""
    settings = (await t.complete([400, 401], 1))["generation_settings"]
    end = (await t.json(post("/tokenize", {"content": (await t.props())["eos_token"]})))["tokens"]
    demand({"bias": None, "token": end[0]} in settings["logit_bias"], f"they are {settings['logit_bias']}")


async def below_zero(t: Target) -> None:
    """A top_k or a temperature below zero is shown as zero."""
    body = {"prompt": [400, 401], "n_predict": 1, "top_k": -5, "temperature": -1}
    settings = (await t.json(post("/completion", body)))["generation_settings"]
    expect(settings, {"top_k": 0, "temperature": 0.0}, "generation_settings")


async def end_of_text(t: Target) -> None:
    """The end-of-text token ends a reply: it counts, its text is not in the content."""
    end = (await t.json(post("/tokenize", {"content": (await t.props())["eos_token"]})))["tokens"]
    body = {"prompt": t.prompt(12), "n_predict": 5, "temperature": 0, "logit_bias": [[end[0], 1000.0]]}
    answer = await t.json(post("/completion", body))
    expect(answer, {"stop_type": "eos", "tokens_predicted": 1, "content": ""})


async def ignore_end(t: Target) -> None:
    """With ignore_eos it is never chosen."""
    end = (await t.json(post("/tokenize", {"content": (await t.props())["eos_token"]})))["tokens"]
    answer = await _reply(t, t.prompt(12), 5, logit_bias=[[end[0], 5.0]])
    expect(answer, {"stop_type": "limit", "tokens_predicted": 5})


async def same_seed(t: Target) -> None:
    """The same seed draws the same tokens."""
    prompt = t.prompt(12)
    wild = {"temperature": 5.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    found = [(await _reply(t, prompt, 12, seed=11, **wild))["tokens"] for _ in range(2)]
    demand(found[0] == found[1], f"they are {found}")


async def other_seed(t: Target) -> None:
    """Another seed draws others, where the temperature is high."""
    prompt = t.prompt(12)
    wild = {"temperature": 5.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    found = {tuple((await _reply(t, prompt, 12, seed=seed, **wild))["tokens"]) for seed in (1, 2, 3)}
    demand(len(found) > 1, "three seeds drew the same tokens")


async def top_k_one(t: Target) -> None:
    """top_k 1 is greedy whatever the temperature."""
    prompt = t.prompt(12)
    greedy = (await _reply(t, prompt, 6))["tokens"]
    expect((await _reply(t, prompt, 6, temperature=2.0, top_k=1, seed=5))["tokens"], greedy, "tokens")


CLAUSES: tuple[Clause, ...] = probed(
    "6.1",
    stop_word,
    stop_text,
    stop_counts,
    stop_echo,
    probabilities,
    likeliest_first,
    sum_to_one,
    probabilities_bytes,
    cut_probabilities,
    post_sampling,
    no_probabilities,
    banned,
    forced,
    forced_by_object,
    bias_echo,
    ignored_echo,
    below_zero,
    end_of_text,
    ignore_end,
    same_seed,
    other_seed,
    top_k_one,
)
