"""A client's request, read once: what is asked, whether its prompt can be handed over, and its body with our fields.

Pure. A body that a decoder could read differently from us (not UTF-8, NaN, no object) is refused.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from router.errors import Refusal


class Endpoint(StrEnum):
    """The routes that reach a decoder's model."""

    CHAT = "/v1/chat/completions"
    TEXT = "/v1/completions"


class Why(StrEnum):
    """Why a prompt is not handed over; each is also the word in `X-KVGate-Reason`."""

    NO_PROVIDER = "no-provider"
    NO_ROUTE = "no-route"
    OTHER_MODEL = "other-model"
    NOT_A_CHAT = "not-a-chat"
    SHORT_PROMPT = "short-prompt"
    WARM_PREFIX = "warm-prefix"
    MULTIMODAL = "multimodal"
    SEVERAL_PROMPTS = "several-prompts"
    SEVERAL_CHOICES = "several-choices"
    CACHE_PROMPT_FALSE = "cache-prompt-false"
    LORA = "lora"
    RESPONSE_FIELDS = "response-fields"
    NO_PROMPT = "no-prompt"
    BAD_FIELD = "bad-field"


WHY_TEXT = {
    Why.NO_PROVIDER: "no provider is configured",
    Why.NO_ROUTE: "this decoder serves no slot actions",
    Why.OTHER_MODEL: "this decoder is no longer the one that the prefill server fits",
    Why.NOT_A_CHAT: "engines prefill chats alone",
    Why.SHORT_PROMPT: "fewer than --min-prefill-tokens prompt tokens",
    Why.WARM_PREFIX: "its slot holds all but --min-prefill-tokens of the prompt already",
    Why.MULTIMODAL: "the prompt has images or audio",
    Why.SEVERAL_PROMPTS: "several prompts in one request",
    Why.SEVERAL_CHOICES: "n is above 1",
    Why.CACHE_PROMPT_FALSE: "the client set cache_prompt to false",
    Why.LORA: "the request chooses LoRA adapters",
    Why.RESPONSE_FIELDS: "response_fields hides the timings",
    Why.NO_PROMPT: "there is no prompt to tokenize",
    Why.BAD_FIELD: "a field has a value that the decoder refuses",
}

_LIMITS = frozenset({"n_predict", "max_tokens", "max_completion_tokens"})
_NUMBERS = _LIMITS | {
    "seed", "temperature", "top_k", "top_p", "min_p", "top_n_sigma", "typical_p", "repeat_last_n", "repeat_penalty",
    "presence_penalty", "frequency_penalty", "n_keep", "n_discard", "n_probs", "min_keep", "n", "n_cmpl", "logprobs",
    "xtc_probability", "dynatemp_range", "mirostat", "dry_multiplier", "n_indent",
}  # fmt: skip
_BOOLEANS = frozenset({
    "stream", "cache_prompt", "ignore_eos", "timings_per_token", "return_tokens", "post_sampling_probs",
    "return_progress", "echo",
})  # fmt: skip
_NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """One request of a client."""

    endpoint: Endpoint
    raw: bytes
    body: dict[str, Any]

    @property
    def streamed(self) -> bool:
        return self.body.get("stream") is True

    @property
    def prompt(self) -> object:
        """The single prompt of a text request: a string, a list of ids, or a list of both."""
        prompt = self.body.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
            return prompt[0]
        if isinstance(prompt, dict) and set(prompt) == {"prompt_string"}:
            return prompt["prompt_string"]
        return prompt

    def with_fields(self, fields: dict[str, object]) -> bytes:
        """The client's own bytes with `fields` in front of the closing brace, where they win over earlier ones."""
        if not fields:
            return self.raw
        if any(name in self.body for name in fields):
            return json.dumps({**self.body, **fields}).encode()
        added = json.dumps(fields).encode()[1:]
        head = self.raw.rstrip()[:-1]
        return head + (b"," if self.body else b"") + added


def read_request(endpoint: Endpoint, raw: bytes) -> ClientRequest:
    """Refusal 400: no JSON object, or a field that is not the client's to set."""
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _bad(f"the request body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise _bad("the request body is no JSON object")
    if body.get("id_slot") is not None:
        raise _bad("id_slot is not a client's to set: the router leases slots itself")
    return ClientRequest(endpoint, raw, body)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _bad(message: str) -> Refusal:
    return Refusal(400, "invalid_request_error", message)


def why_not(request: ClientRequest) -> Why | None:
    """Why the prompt cannot be handed over whatever its length. None: it can."""
    body = request.body
    if any(_is_refused(name, value) for name, value in body.items()):
        return Why.BAD_FIELD
    if body.get("cache_prompt") is False:
        return Why.CACHE_PROMPT_FALSE
    if any(_above_one(body.get(name)) for name in ("n", "n_cmpl", "best_of")):
        return Why.SEVERAL_CHOICES
    if body.get("lora"):
        return Why.LORA
    if _hides_timings(body.get("response_fields")):
        return Why.RESPONSE_FIELDS
    return _why_not_chat(body) if request.endpoint is Endpoint.CHAT else _why_not_text(request.prompt)


def _is_refused(name: str, value: object) -> bool:
    """What llama-server answers with 400 before it looks at the prompt; it takes true and false for numbers, too."""
    if value is None:
        return False
    if name in _BOOLEANS:
        return not isinstance(value, bool)
    if name not in _NUMBERS:
        return False
    return not isinstance(value, int | float) or (name in _LIMITS and value < _NO_LIMIT)


def _above_one(value: object) -> bool:
    return isinstance(value, int | float) and value > 1


def _hides_timings(fields: object) -> bool:
    return isinstance(fields, list) and len(fields) > 0 and "timings" not in fields


def _why_not_chat(body: dict[str, Any]) -> Why | None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return Why.NO_PROMPT
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    if any(not isinstance(part, dict) or part.get("type") != "text" for part in parts):
        return Why.MULTIMODAL
    return None


def _why_not_text(prompt: object) -> Why | None:
    if isinstance(prompt, str):
        return None if prompt else Why.NO_PROMPT
    if isinstance(prompt, dict):
        return Why.MULTIMODAL
    if not isinstance(prompt, list) or not prompt:
        return Why.NO_PROMPT
    if all(type(item) is int for item in prompt):
        return None
    # Strings alone, or lists and objects, are prompts of their own; ids and strings mixed are one prompt.
    mixed = all(type(item) in (int, str) for item in prompt) and any(type(item) is int for item in prompt)
    return None if mixed else Why.SEVERAL_PROMPTS


def surely_shorter(request: ClientRequest, n_tokens: int) -> bool:
    """Whether the prompt is shorter than `n_tokens` without tokenizing it. A token is at least one byte of text."""
    special = 2
    if request.endpoint is Endpoint.CHAT:
        return len(request.raw) < n_tokens
    prompt = request.prompt
    if isinstance(prompt, str):
        return len(prompt.encode("utf-8", "surrogatepass")) + special < n_tokens
    return isinstance(prompt, list) and all(type(item) is int for item in prompt) and len(prompt) < n_tokens


def text_of(request: ClientRequest) -> bytes:
    """The prompt as text, for finding the slot that holds its beginning where nothing is tokenized."""
    prompt = request.body.get("messages") if request.endpoint is Endpoint.CHAT else request.prompt
    if isinstance(prompt, str):
        return prompt.encode("utf-8", "surrogatepass")
    return json.dumps(prompt).encode()
