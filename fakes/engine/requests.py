"""What a request asks to be generated: a prompt's tokens and the few fields that the toy model heeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fakes.api_error import ApiError
from fakes.body import flag, integer
from fakes.model import ToyModel
from fakes.prompts import read_prompts, render_chat

DEFAULT_PREDICT = 128


@dataclass(frozen=True, slots=True)
class Wanted:
    """`n_predict` below 0 is no limit."""

    tokens: tuple[int, ...]
    n_predict: int
    cache_prompt: bool
    ignore_eos: bool
    stream: bool


def read_wanted(model: ToyModel, body: Mapping[str, Any]) -> Wanted:
    """`messages` through the chat template, else `prompt` as text or token ids. ApiError: neither, or no tokens."""
    values = dict(body)
    n_predict = DEFAULT_PREDICT
    for name in ("n_predict", "max_completion_tokens", "max_tokens"):
        if values.get(name) is not None:
            n_predict = integer(values, name, DEFAULT_PREDICT, -1)
            break
    return Wanted(
        tokens=_tokens(model, values),
        n_predict=n_predict,
        cache_prompt=flag(values, "cache_prompt", True),
        ignore_eos=flag(values, "ignore_eos", False),
        stream=flag(values, "stream", False),
    )


def _tokens(model: ToyModel, body: dict[str, Any]) -> tuple[int, ...]:
    tokenizer = model.tokenizer
    if "messages" in body:
        text, _ = render_chat(body)
        return tuple(tokenizer.encode(text, add_special=True))
    if "prompt" not in body:
        raise ApiError(400, "'messages' is required")
    prompts = read_prompts(body["prompt"], tokenizer)
    return tuple(prompts[0].tokens)
