"""The requests of a campaign: each with a nonce of its own, some long, some streamed, some of clients that leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from gates.load.options import Options

LONG_WORDS = 60
SHORT_WORDS = 4
MIN_PREFILL_TOKENS = 64
"""Between the tokens of a short prompt and those of a long one."""
_PATIENCE_S = 0.006
_WORDS = [
    "otter",
    "river",
    "stone",
    "lamp",
    "cedar",
    "violet",
    "harbour",
    "engine",
    "paper",
    "copper",
    "meadow",
    "signal",
]


@dataclass(frozen=True, slots=True)
class Work:
    """One request. `patience_s`: its client leaves if the reply has not ended by then."""

    index: int
    path: str
    body: dict[str, Any]
    is_long: bool
    patience_s: float | None

    @property
    def plain_body(self) -> dict[str, Any]:
        """The same question for the reference."""
        return {**self.body, "stream": False}


def works(options: Options, random: Random) -> Iterator[Work]:
    """All requests, one after the other."""
    for index in range(options.requests):
        is_long = random.random() < options.handed_over
        patience_s = random.random() * _PATIENCE_S if random.random() < options.leaving else None
        text = _text(random, index, LONG_WORDS if is_long else SHORT_WORDS)
        body: dict[str, Any] = {"max_tokens": options.max_tokens, "temperature": 0}
        body["stream"] = random.random() < options.streamed
        if random.random() < 0.5:
            path, body["messages"] = "/v1/chat/completions", [{"role": "user", "content": text}]
        else:
            path, body["prompt"] = "/v1/completions", text
        yield Work(index, path, body, is_long, patience_s)


def _text(random: Random, index: int, words: int) -> str:
    """The nonce comes first: no two prompts share a beginning that a slot could hold."""
    return f"{index:06d}-{random.getrandbits(32):08x} {' '.join(random.choices(_WORDS, k=words))}"
