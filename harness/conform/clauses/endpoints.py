"""Section 5: small endpoints."""

from __future__ import annotations

import re
from typing import Any

from harness.conform.clause import Clause, demand, expect, probed, refused, row
from harness.conform.match import keys
from harness.conform.target import Target, chat
from harness.conform.wire_client import get, post

_PROPS = [
    "default_generation_settings",
    "total_slots",
    "model_alias",
    "model_ftype",
    "model_path",
    "modalities",
    "media_marker",
    "endpoint_slots",
    "endpoint_props",
    "endpoint_metrics",
    "ui",
    "ui_settings",
    "chat_template",
    "chat_template_caps",
    "bos_token",
    "eos_token",
    "build_info",
    "is_sleeping",
    "cors_proxy_enabled",
]
_FRESH = keys("id n_ctx speculative is_processing")
_USED = keys(
    "id n_ctx speculative is_processing id_task n_prompt_tokens n_prompt_tokens_processed n_prompt_tokens_cache"
    " params next_token"
)
_NOT_SHOWN = ("dry_sequence_breakers", "stop", "logit_bias", "grammar", "preserved_tokens")
_TEXT = "The otter counts seven pebbles"


async def props_keys(t: Target) -> None:
    """GET /props has the keys of the document."""
    props = await t.props()
    missing = [name for name in _PROPS if name not in props]
    demand(not missing, f"it lacks {missing}")


async def props_values(t: Target) -> None:
    """GET /props says slots, context per slot, alias, path, modalities and which endpoints are on."""
    like = {
        "default_generation_settings": {"n_ctx": 1024, "params": {"n_predict": -1, "temperature": float}},
        "total_slots": 2,
        "model_alias": "conform",
        "model_path": str,
        "modalities": {"vision": False, "audio": False},
        "endpoint_slots": True,
        "endpoint_props": True,
        "endpoint_metrics": True,
        "chat_template": str,
        "build_info": re.compile(r"b\d+-\S+"),
    }
    expect(await t.props(), like)


async def props_params(t: Target) -> None:
    """GET /props leaves out the same params as GET /slots does."""
    params = (await t.props())["default_generation_settings"]["params"]
    there = [name for name in _NOT_SHOWN if name in params]
    demand(not there, f"it shows {there}")


async def tokenize(t: Target) -> None:
    """/tokenize turns text into ids, and /detokenize gives the text back."""
    tokens = (await t.json(post("/tokenize", {"content": _TEXT})))["tokens"]
    demand(len(tokens) > 1 and all(type(token) is int for token in tokens), f"the tokens are {tokens}")
    expect(await t.json(post("/detokenize", {"tokens": tokens})), {"content": _TEXT})


async def pieces(t: Target) -> None:
    """with_pieces gives an id and a piece for each token, and the pieces are the text."""
    found = (await t.json(post("/tokenize", {"content": _TEXT, "with_pieces": True})))["tokens"]
    for each in found:
        expect(each, keys("id piece"), "a token")
    expect("".join(each["piece"] for each in found).lstrip(), _TEXT, "the pieces together")


async def half_a_character(t: Target) -> None:
    """A piece that is not valid UTF-8 is a list of byte values."""
    text = "\u16a0\U0001f9a6\u4e9c"
    found = (await t.json(post("/tokenize", {"content": text, "with_pieces": True})))["tokens"]
    pieces = [each["piece"] for each in found]
    if all(isinstance(piece, str) for piece in pieces):
        demand("".join(pieces).strip() == text, f"the pieces are {pieces}")
        return
    data = b"".join(bytes(piece) if isinstance(piece, list) else piece.encode() for piece in pieces)
    expect(data.decode().strip(), text, "the pieces together")


async def mixed(t: Target) -> None:
    """A list given to /tokenize mixes ids and texts."""
    alone = (await t.json(post("/tokenize", {"content": "a river"})))["tokens"]
    found = await t.json(post("/tokenize", {"content": [400, "a river", 401]}))
    expect(found, {"tokens": [400, *alone, 401]})


async def special(t: Target) -> None:
    """Special tokens in text are one token each, unless parse_special is false."""
    props = await t.props()
    word = props["eos_token"]
    one = (await t.json(post("/tokenize", {"content": word})))["tokens"]
    many = (await t.json(post("/tokenize", {"content": word, "parse_special": False})))["tokens"]
    demand(len(one) == 1 < len(many), f"{word!r} is {one}, and {many} without parse_special")


async def template(t: Target) -> None:
    """/apply-template gives the prompt with the message and the answer begun."""
    prompt = (await t.json(post("/apply-template", chat("Name a river."))))["prompt"]
    demand("Name a river." in prompt and prompt.rstrip().endswith("assistant"), f"the prompt is {prompt!r}")


async def template_is_the_prompt(t: Target) -> None:
    """A chat's prompt tokens are those of its template, and as many as /input_tokens says."""
    body = chat("Count to seven.", 1)
    said = await t.json(post("/v1/chat/completions/input_tokens", body))
    expect(said, {"object": "response.input_tokens", "input_tokens": int})
    usage = (await t.json(post("/v1/chat/completions", body)))["usage"]
    expect(usage["prompt_tokens"], said["input_tokens"], "prompt_tokens")
    prompt = (await t.json(post("/apply-template", body)))["prompt"]
    asked = {"content": prompt, "add_special": True, "parse_special": True}
    expect(len((await t.json(post("/tokenize", asked)))["tokens"]), said["input_tokens"], "the tokens of the template")


async def input_tokens_run_nothing(t: Target) -> None:
    """/input_tokens leaves the slots as they are."""
    await t.emptied()
    await t.json(post("/v1/chat/completions/input_tokens", chat()))
    expect([slot.get("n_prompt_tokens", 0) for slot in await t.slots()], [0, 0], "what the slots hold")


async def fresh_slot(t: Target) -> None:
    """A slot that never had a task shows id, n_ctx, speculative and is_processing alone."""
    expect(await t.slot(0), _FRESH, "slot 0")
    expect(await t.slot(0), {"id": 0, "speculative": False, "is_processing": False})


async def used_slot(t: Target) -> None:
    """A slot that had a task shows what it holds, and no counts of the task when idle."""
    await t.complete(t.prompt(10), 3, id_slot=0)
    slot = await t.slot(0)
    expect(slot, _USED, "slot 0")
    like = {"n_prompt_tokens": 12, "n_prompt_tokens_processed": 0, "n_prompt_tokens_cache": 0}
    expect(slot, like, "slot 0")
    token = {"has_next_token": False, "has_new_line": False, "n_remain": -1, "n_decoded": 0}
    expect(slot["next_token"], [token], "next_token")


async def slot_params(t: Target) -> None:
    """A slot's params lack stop, logit_bias, grammar and the like."""
    await t.complete([400, 401], 1, id_slot=0)
    params = (await t.slot(0))["params"]
    there = [name for name in _NOT_SHOWN if name in params]
    demand(not there, f"it shows {there}")
    expect(params, {"n_predict": 1, "temperature": 0.0}, "params")


async def busy_slot(t: Target) -> None:
    """A busy slot shows its prompt, what was cached of it, and how far it is."""
    prompt = t.prompt(20)
    await t.complete(prompt, 2, id_slot=0)
    async with t.working(0, prompt):
        slot = await t.slot(0)
    like: dict[str, Any] = {"is_processing": True, "n_prompt_tokens_cache": 19, "n_prompt_tokens_processed": 1}
    expect(slot, like, "slot 0")
    expect(slot["next_token"], [{"has_next_token": True, "n_remain": int, "n_decoded": int}], "next_token")


async def answered_while_busy(t: Target) -> None:
    """/slots, /tokenize and /health are answered while all slots work."""
    async with t.working(0), t.working(1):
        expect([slot["is_processing"] for slot in await t.slots()], [True, True], "is_processing")
        expect((await t.ask(post("/tokenize", {"content": "a"}))).status, 200, "the status of /tokenize")
        expect((await t.ask(get("/health"))).json, {"status": "ok"}, "/health")


async def erased_slot(t: Target) -> None:
    """After an erase a slot holds 0 tokens."""
    await t.complete(t.prompt(10), 3, id_slot=0)
    await t.action(0, "erase")
    expect((await t.slot(0))["n_prompt_tokens"], 0, "n_prompt_tokens")


async def models(t: Target) -> None:
    """/v1/models names the model in both lists, with its sizes."""
    meta = {"n_vocab": int, "n_ctx": 1024, "n_ctx_train": int, "n_embd": int, "n_params": int, "size": int}
    one = {"id": "conform", "aliases": ["conform"], "tags": [], "object": "model", "owned_by": "llamacpp"}
    found = await t.json(get("/v1/models"))
    expect(found, keys("models object data"))
    expect(found, {"object": "list", "data": [{**one, "created": int, "meta": meta}]})
    expect(found, {"models": [{"name": "conform", "model": "conform", "type": "model"}]})


async def models_architecture(t: Target) -> None:
    """/v1/models says what goes in and out."""
    found = await t.json(get("/v1/models"))
    both = {"input_modalities": ["text"], "output_modalities": ["text"]}
    expect(found["data"], [{"architecture": both}], "data")


CLAUSES: tuple[Clause, ...] = (
    *probed("5", fresh_slot, setting="ram"),
    *probed("5", props_keys, props_values, props_params, tokenize, pieces, half_a_character, mixed, special, template),
    *probed("5", template_is_the_prompt, input_tokens_run_nothing, used_slot, slot_params, busy_slot),
    *probed("5", answered_while_busy, erased_slot, models, models_architecture),
    row("5", "/tokenize without content is an empty list", post("/tokenize", {}), like={"tokens": []}),
    row("5", "/tokenize of an empty text is an empty list", post("/tokenize", {"content": ""}), like={"tokens": []}),
    row("5", "/detokenize without tokens is an empty text", post("/detokenize", {}), like={"content": ""}),
    row("5", "/lora-adapters is an empty list", get("/lora-adapters"), like=[]),
    refused(
        "5",
        "A token out of the vocabulary is a server error of /detokenize",
        post("/detokenize", {"tokens": [10_000_000]}),
        500,
        "server_error",
        str,
    ),
    row(
        "5",
        "GET /props shows a setting that no request changed",
        get("/props"),
        like={"default_generation_settings": {"params": {"stream": False, "top_k": 40}}},
    ),
)
