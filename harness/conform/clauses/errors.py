"""Section 4: errors, and fields of a wrong type or range."""

from __future__ import annotations

import re
from typing import Any

from harness.conform.clause import Clause, demand, expect, probed, refused, row
from harness.conform.match import keys
from harness.conform.target import Target, completion
from harness.conform.wire_client import Ask, get, post

_INVALID = "invalid_request_error"
_NO_PROMPT = (
    '"prompt" elements must be a string, a list of tokens, a JSON object containing a prompt string,'
    " or a list of mixed strings & tokens."
)
_NO_JSON = re.compile(r"\[json\.exception\.parse_error\.101\] parse error at line 1, column \d+: .*", re.DOTALL)


def _bad(says: str, path: str, body: Any, message: Any, status: int = 400, kind: str = _INVALID) -> Clause:
    return refused("4", says, post(path, body), status, kind, message)


def _field(name: str, value: Any, message: str) -> Clause:
    body = completion([400], 1) | {name: value}
    return _bad(f"{name} {value!r} is refused", "/completion", body, f"Field '{name}': {message}")


def _type(wanted: str, seen: str) -> str:
    return f"[json.exception.type_error.302] type must be {wanted}, but is {seen}"


async def late_order(t: Target) -> None:
    """An error of a handler has code, message, type in that order."""
    answer = await t.ask(post("/completion", {}))
    expect(answer.json["error"], keys("code message type"), "error")


async def early_order(t: Target) -> None:
    """An error before any handler has message, type, code in that order."""
    answer = await t.ask(get("/nowhere"))
    expect(answer.json["error"], keys("message type code"), "error")


async def overflow(t: Target) -> None:
    """A prompt of a slot's whole context is refused, with both numbers."""
    answer = await t.ask(post("/completion", completion(t.prompt(1024), 1, id_slot=0)))
    expect(answer.status, 400, "the status")
    text = "request (1024 tokens) exceeds the available context size (1024 tokens), try increasing it"
    expect(answer.json["error"], keys("code message type n_prompt_tokens n_ctx"), "error")
    error = {"message": text, "type": "exceed_context_size_error", "n_prompt_tokens": 1024, "n_ctx": 1024}
    expect(answer.json["error"], error, "error")


async def fits(t: Target) -> None:
    """A prompt one token short of the context is answered, with one token."""
    answer = await t.complete(t.prompt(1023), 5, id_slot=0, cache_prompt=False)
    expect(answer, {"tokens_predicted": 1, "stop_type": "limit", "truncated": True, "tokens_cached": 1023})


async def overflow_of_stream(t: Target) -> None:
    """The same refusal for a stream is plain JSON, no event stream."""
    answer = await t.ask(post("/completion", completion(t.prompt(1500), 1, id_slot=0, stream=True)))
    expect(answer.status, 400, "the status")
    expect(answer.json["error"], {"type": "exceed_context_size_error", "n_prompt_tokens": 1500}, "error")


async def overflow_of_chat(t: Target) -> None:
    """The same refusal for a chat."""
    body = {"messages": [{"role": "user", "content": "otter " * 2000}], "max_tokens": 1, "id_slot": 0}
    answer = await t.ask(post("/v1/chat/completions", body))
    expect(answer.status, 400, "the status")
    expect(answer.json["error"], {"type": "exceed_context_size_error", "n_ctx": 1024}, "error")


async def cannot_fit(t: Target) -> None:
    """A reply that would not fit ends at the slot's end, said to be truncated."""
    answer = await t.complete(t.prompt(1001), 100, id_slot=0, cache_prompt=False)
    expect(answer, {"tokens_predicted": 23, "truncated": True, "stop_type": "limit", "tokens_cached": 1023})


async def unknown_fields(t: Target) -> None:
    """Unknown fields of a body are ignored."""
    expect(await t.complete([400, 401], 1, frobnicate={"a": [1]}), {"tokens_predicted": 1})


async def null_is_default(t: Target) -> None:
    """null means the default."""
    answer = await t.complete([400, 401], 2, stop=None, seed=None, cache_prompt=None, id_slot=None, stream=None)
    expect(answer, {"tokens_predicted": 2})


async def wrong_id_slot(t: Target) -> None:
    """An id_slot of a wrong type is ignored."""
    expect(await t.complete([400, 401], 1, id_slot="zero"), {"tokens_predicted": 1})


async def all_busy(t: Target) -> None:
    """/slots?fail_on_no_slot=1 is 503 `no slot available` when all are busy."""
    async with t.working(0), t.working(1):
        answer = await t.ask(get("/slots?fail_on_no_slot=1"))
    expect(answer.status, 503, "the status")
    expect(answer.json["error"], {"message": "no slot available", "type": "unavailable_error"}, "error")


async def not_all_busy(t: Target) -> None:
    """/slots?fail_on_no_slot=1 is a list when one is idle."""
    expect((await t.ask(get("/slots?fail_on_no_slot=1"))).json, list)


async def deep_json(t: Target) -> None:
    """Deeply nested JSON neither ends the server nor is answered with 5xx."""
    answer = await t.ask(post("/completion", b'{"prompt":' + b"[" * 20_000 + b"]" * 20_000 + b"}"))
    demand(answer.status == 400, f"the status is {answer.status}")
    expect((await t.ask(get("/health"))).status, 200, "the status of /health after it")


CLAUSES: tuple[Clause, ...] = (
    *probed("4", late_order, early_order, overflow, fits, overflow_of_stream, overflow_of_chat, cannot_fit),
    *probed("4", unknown_fields, null_is_default, wrong_id_slot, all_busy, not_all_busy, deep_json),
    _bad("A body that is no JSON is refused", "/completion", b"no json", _NO_JSON),
    _bad("An empty body is refused", "/completion", b"", _NO_JSON),
    _bad("A body that is cut is refused", "/completion", b'{"prompt":', _NO_JSON),
    _bad("A body that is no UTF-8 is refused", "/completion", b'{"prompt":"\xff\xfe"}', _NO_JSON),
    _bad("A chat body that is no JSON is refused", "/v1/chat/completions", b"{", _NO_JSON),
    _bad("A tokenize body that is no JSON is refused", "/tokenize", b"{", _NO_JSON),
    _bad("A body that is a list is refused", "/completion", [1], re.compile(r"\[json\.exception\.type_error\.304\].*")),
    _bad(
        "A body without prompt is refused",
        "/completion",
        {"n_predict": 1},
        "[json.exception.out_of_range.403] key 'prompt' not found",
    ),
    _bad("A prompt that is a number is refused", "/completion", {"prompt": 5}, _NO_PROMPT),
    _bad("A prompt that is null is refused", "/completion", {"prompt": None}, _NO_PROMPT),
    _bad("A prompt that is an object without text is refused", "/completion", {"prompt": {"a": 1}}, _NO_PROMPT),
    _bad("A prompt of a fraction is refused", "/completion", {"prompt": [1.5]}, _NO_PROMPT),
    _bad("Several prompts of which one is none are refused", "/completion", {"prompt": [[400], 5]}, _NO_PROMPT),
    _bad(
        "A prompt_string that is no text is refused",
        "/completion",
        {"prompt": {"prompt_string": 5}},
        "[json.exception.type_error.302] type must be string, but is number",
    ),
    _bad("A prompt that is an empty list is refused", "/completion", {"prompt": []}, '"prompt" must not be empty'),
    _bad(
        "A prompt with an id out of the vocabulary is refused",
        "/completion",
        {"prompt": [10_000_000]},
        "Prompt contains invalid tokens",
    ),
    _bad("A prompt with a negative id is refused", "/completion", {"prompt": [-1]}, "Prompt contains invalid tokens"),
    _field("n_predict", "x", _type("number", "string")),
    _field("n_predict", [1], _type("number", "array")),
    _field("n_predict", -2, "Value must be between -1 <= value <= 2147483647, but got -2"),
    _field("temperature", "hot", _type("number", "string")),
    _field("stream", "yes", _type("boolean", "string")),
    _field("cache_prompt", 1, _type("boolean", "number")),
    _field("ignore_eos", "no", _type("boolean", "string")),
    _field("return_tokens", 1, _type("boolean", "number")),
    _field("timings_per_token", "a", _type("boolean", "string")),
    _field("top_k", {}, _type("number", "object")),
    _field("seed", "x", _type("number", "string")),
    _field("n_probs", "x", _type("number", "string")),
    _bad("A chat without messages is refused", "/v1/chat/completions", {}, "'messages' is required"),
    _bad(
        "A chat whose messages are no list is refused",
        "/v1/chat/completions",
        {"messages": "hello"},
        "Expected 'messages' to be an array",
    ),
    _bad(
        "A message without role is a server error",
        "/v1/chat/completions",
        {"messages": [{"content": "hello"}]},
        re.compile("Failed to parse messages: Missing 'role' in message: .*"),
        500,
        "server_error",
    ),
    _bad(
        "A template without messages is refused",
        "/apply-template",
        {},
        "'messages' is required",
    ),
    row(
        "4",
        "n_predict is cut to a whole number",
        post("/completion", completion([400], 1) | {"n_predict": 2.7}),
        like={"tokens_predicted": 2},
    ),
    refused(
        "4", "POST /slots/0 without an action is refused", Ask("POST", "/slots/0", b""), 400, _INVALID, "Invalid action"
    ),
)
