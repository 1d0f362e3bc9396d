"""Section 6.1: POST /completion, not streamed."""

from __future__ import annotations

from typing import Any

from harness.conform.clause import Clause, NotSeen, demand, expect, probed
from harness.conform.match import keys
from harness.conform.target import LONG_REPLY, Target, completion
from harness.conform.wire_client import post

_KEYS = keys(
    "index content tokens id_slot stop model tokens_predicted tokens_evaluated generation_settings prompt has_new_line"
    " truncated stop_type stopping_word tokens_cached timings"
)
_TIMINGS = keys(
    "cache_n prompt_n prompt_ms prompt_per_token_ms prompt_per_second predicted_n predicted_ms predicted_per_token_ms"
    " predicted_per_second"
)
_SETTINGS = keys(
    "seed temperature dynatemp_range dynatemp_exponent top_k top_p min_p top_n_sigma xtc_probability xtc_threshold"
    " typical_p repeat_last_n repeat_penalty presence_penalty frequency_penalty dry_multiplier dry_base"
    " dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat mirostat_tau mirostat_eta adaptive_target"
    " adaptive_decay stop max_tokens n_predict n_keep n_discard ignore_eos stream logit_bias n_probs min_keep grammar"
    " grammar_lazy grammar_triggers preserved_tokens chat_format reasoning_format reasoning_in_content"
    " generation_prompt samplers speculative.types timings_per_token post_sampling_probs backend_sampling lora"
)


async def all_keys(t: Target) -> None:
    """An answer has the keys of the document in their order."""
    expect(await t.complete(t.prompt(8), 5), _KEYS)


async def timings_keys(t: Target) -> None:
    """timings has the keys of the document in their order."""
    expect((await t.complete(t.prompt(8), 5))["timings"], _TIMINGS, "timings")


async def settings_keys(t: Target) -> None:
    """generation_settings has the keys of the document in their order."""
    expect((await t.complete(t.prompt(8), 5))["generation_settings"], _SETTINGS, "generation_settings")


async def settings_values(t: Target) -> None:
    """generation_settings shows what was asked for, and the defaults as widened 32-bit values."""
    answer = await t.complete([400, 401], 2, top_k=7, min_p=0.1, seed=42)
    like = {"temperature": 0.0, "top_k": 7, "min_p": 0.10000000149011612, "seed": 42, "top_p": 0.949999988079071}
    expect(answer["generation_settings"], like | {"n_predict": 2, "max_tokens": 2, "ignore_eos": True, "stream": False})


async def not_echoed(t: Target) -> None:
    """generation_settings shows neither cache_prompt nor id_slot."""
    settings = (await t.complete([400, 401], 1, id_slot=0, cache_prompt=True))["generation_settings"]
    demand(not {"cache_prompt", "id_slot"} & settings.keys(), "it shows one of them")


async def counts(t: Target) -> None:
    """tokens_evaluated is the prompt, tokens_predicted what was asked, and tokens_cached one less than both."""
    answer = await t.complete(t.prompt(8), 5)
    expect(answer, {"tokens_evaluated": 8, "tokens_predicted": 5, "tokens_cached": 12, "index": 0, "stop": True})


async def counts_of_timings(t: Target) -> None:
    """timings has the same counts: cache_n and prompt_n make tokens_evaluated, predicted_n is tokens_predicted."""
    prompt = t.prompt(30)
    for _ in range(2):
        answer = await t.complete(prompt, 5, id_slot=0)
    timings = answer["timings"]
    expect(timings["cache_n"] + timings["prompt_n"], answer["tokens_evaluated"], "cache_n + prompt_n")
    expect(timings, {"cache_n": 29, "prompt_n": 1, "predicted_n": 5, "prompt_ms": float, "predicted_ms": float})


async def rates(t: Target) -> None:
    """Rates leave out the first token: predicted_per_token_ms is predicted_ms over one less than predicted_n."""
    timings = (await t.complete(t.prompt(8), 5))["timings"]
    share = timings["predicted_ms"] / 4
    demand(abs(timings["predicted_per_token_ms"] - share) < 1e-6 + share / 1e6, f"the timings are {timings}")


async def one_token_rates(t: Target) -> None:
    """For one token predicted_ms is 0.001 and both rates are 0."""
    timings = (await t.complete(t.prompt(8), 1))["timings"]
    expect(timings, {"predicted_ms": 0.001, "predicted_per_token_ms": 0.0, "predicted_per_second": 0.0}, "timings")


async def no_tokens(t: Target) -> None:
    """tokens is empty unless return_tokens asks for it."""
    expect((await t.complete(t.prompt(8), 3))["tokens"], [], "tokens")


async def return_tokens(t: Target) -> None:
    """With return_tokens they are the ids of the content."""
    answer = await t.complete(t.prompt(8), 3, return_tokens=True)
    expect(answer["tokens"], [int, int, int], "tokens")
    content = (await t.json(post("/detokenize", {"tokens": answer["tokens"]})))["content"]
    expect(content, answer["content"], "the text of the tokens")


async def greedy(t: Target) -> None:
    """At temperature 0 the same prompt gets the same tokens, cached or not."""
    prompt = t.prompt(40)
    found = [
        (await t.complete(prompt, 6, return_tokens=True, id_slot=slot, cache_prompt=reuse))["tokens"]
        for slot, reuse in ((0, False), (0, True), (1, False))
    ]
    demand(found[0] == found[1] == found[2], f"they are {found}")


async def prompt_echo(t: Target) -> None:
    """prompt echoes the text of the prompt."""
    tokens = (await t.json(post("/tokenize", {"content": "a river and a hill"})))["tokens"]
    expect((await t.complete(tokens, 1))["prompt"].lstrip(), "a river and a hill", "prompt")


async def zero(t: Target) -> None:
    """n_predict 0 still yields one token, and evaluates the prompt."""
    answer = await t.complete(t.prompt(8), 0)
    expect(answer, {"tokens_predicted": 1, "tokens_evaluated": 8, "tokens_cached": 8, "stop_type": "limit"})
    demand(answer["content"] != "", "the content is empty")


async def aliases(t: Target) -> None:
    """max_tokens and max_completion_tokens mean n_predict."""
    for name in ("max_tokens", "max_completion_tokens"):
        body: dict[str, Any] = {"prompt": [400, 401], "temperature": 0, "ignore_eos": True, name: 3}
        expect(await t.json(post("/completion", body)), {"tokens_predicted": 3})


async def no_limit(t: Target) -> None:
    """n_predict -1 goes on until the slot is full."""
    answer = await t.complete(t.prompt(1010), -1, id_slot=0, cache_prompt=False)
    expect(answer, {"tokens_predicted": 14, "truncated": True, "stop_type": "limit", "tokens_cached": 1023})


async def model_name(t: Target) -> None:
    """The answer names the server's model, whatever the request said."""
    expect((await t.complete([400], 1, model="another"))["model"], "conform", "model")


async def two_prompts(t: Target) -> None:
    """A list of texts is several prompts, answered by a list."""
    answers = await t.json(post("/completion", completion(["a river", "the otter"], 2)))
    expect(answers, [{"index": 0, "tokens_predicted": 2}, {"index": 1, "tokens_predicted": 2}])


async def token_lists(t: Target) -> None:
    """So is a list of token lists; each prompt has its own slot."""
    answers = await t.json(post("/completion", completion([t.prompt(5), t.prompt(7)], 3)))
    expect([each["tokens_evaluated"] for each in answers], [5, 7], "tokens_evaluated")
    expect(sorted(each["id_slot"] for each in answers), [0, 1], "the slots")


async def prompts_together(t: Target) -> None:
    """Prompts that come together take a slot each, though one slot holds them all."""
    await t.emptied()
    prompt = t.prompt(20)
    await t.complete(prompt, 1, id_slot=0)
    answers = await t.json(post("/completion", completion([prompt, prompt], 3)))
    found = [(each["id_slot"], each["timings"]["cache_n"]) for each in answers]
    demand(found == [(0, 19), (1, 0)], f"slot and cache_n of each are {found}")


async def prompts_of_one_slot(t: Target) -> None:
    """Where they are pinned to one slot they come one after the other."""
    prompt = t.prompt(20)
    answers = await t.json(post("/completion", completion([prompt, prompt], 3, id_slot=1, cache_prompt=True)))
    expect([each["id_slot"] for each in answers], [1, 1], "the slots")
    expect(answers[1]["timings"], {"cache_n": 19, "prompt_n": 1}, "timings of the second")


async def one_does_not_fit(t: Target) -> None:
    """One that does not fit is the answer to all of them, and the others' slots are free again."""
    answer = await t.ask(post("/completion", completion([t.prompt(8), t.prompt(1500)], LONG_REPLY)))
    expect(answer.status, 400, "the status")
    expect(answer.json["error"], {"type": "exceed_context_size_error", "n_prompt_tokens": 1500}, "error")
    for slot in (0, 1):
        await t.idle(slot)


async def mixed_prompt(t: Target) -> None:
    """A list that mixes ids and texts is one prompt."""
    text = (await t.json(post("/tokenize", {"content": "the otter"})))["tokens"]
    answer = await t.complete([400, "the otter"], 1)
    expect(answer["tokens_evaluated"], 1 + len(text), "tokens_evaluated")


async def prompt_object(t: Target) -> None:
    """An object with prompt_string is a prompt."""
    answer = await t.complete({"prompt_string": "the otter"}, 1)
    expect(answer["prompt"], lambda text: "the otter" in text, "prompt")


async def empty_prompt(t: Target) -> None:
    """An empty prompt is answered at once: nothing evaluated, nothing predicted, stop_type none."""
    adds = (await t.json(post("/tokenize", {"content": "", "add_special": True})))["tokens"]
    if adds:
        raise NotSeen("this model puts a token in front of every text")
    answer = await t.complete("", 3)
    expect(answer, {"content": "", "tokens_predicted": 0, "tokens_evaluated": 0, "stop_type": "none"})


async def response_fields(t: Target) -> None:
    """response_fields cuts the answer to those keys, the slash kept in their names."""
    fields = ["content", "timings/prompt_n", "frobnicate"]
    answer = await t.complete(t.prompt(8), 2, response_fields=fields)
    expect(answer, keys("content timings/prompt_n"))


async def no_response_fields(t: Target) -> None:
    """Where none of the response_fields is known the answer is an empty object."""
    expect(await t.complete(t.prompt(8), 2, response_fields=["frobnicate"]), keys(""))


async def new_line(t: Target) -> None:
    """has_new_line is false where the text has none."""
    answer = await t.complete(t.prompt(8), 3)
    expect(answer["has_new_line"], "\n" in answer["content"], "has_new_line")


CLAUSES: tuple[Clause, ...] = probed(
    "6.1",
    all_keys,
    timings_keys,
    settings_keys,
    settings_values,
    not_echoed,
    counts,
    counts_of_timings,
    rates,
    one_token_rates,
    no_tokens,
    return_tokens,
    greedy,
    prompt_echo,
    zero,
    aliases,
    no_limit,
    model_name,
    two_prompts,
    token_lists,
    prompts_together,
    prompts_of_one_slot,
    one_does_not_fit,
    mixed_prompt,
    prompt_object,
    empty_prompt,
    response_fields,
    no_response_fields,
    new_line,
)
