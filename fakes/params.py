"""A completion request's fields, read once into one value, and the settings that are echoed back.

Of the sampling fields those in `fakes.wishes` are acted on; the others are checked and echoed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fakes.api_error import ApiError
from fakes.body import Body, flag, integer, number
from fakes.flags import Options
from fakes.sampling import Wish
from fakes.tokenizer import EOS_ID, Tokenizer
from fakes.wishes import RANDOM_SEED, read_wish, shown

ANY_SLOT = None

_SETTINGS: dict[str, Any] = {
    "seed": RANDOM_SEED,
    "temperature": 0.8,
    "dynatemp_range": 0.0,
    "dynatemp_exponent": 1.0,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "top_n_sigma": -1.0,
    "xtc_probability": 0.0,
    "xtc_threshold": 0.1,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "dry_multiplier": 0.0,
    "dry_base": 1.75,
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "dry_sequence_breakers": ["\n", ":", '"', "*"],
    "mirostat": 0,
    "mirostat_tau": 5.0,
    "mirostat_eta": 0.1,
    "adaptive_target": -1.0,
    "adaptive_decay": 0.9,
    "stop": [],
    "max_tokens": -1,
    "n_predict": -1,
    "n_keep": 0,
    "n_discard": 0,
    "ignore_eos": False,
    "stream": False,
    "logit_bias": [],
    "n_probs": 0,
    "min_keep": 0,
    "grammar": "",
    "grammar_lazy": False,
    "grammar_triggers": [],
    "preserved_tokens": [],
    "chat_format": "Content-only",
    "reasoning_format": "deepseek",
    "reasoning_in_content": False,
    "generation_prompt": "",
    "samplers": ["penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"],
    "speculative.types": "none",
    "timings_per_token": False,
    "post_sampling_probs": False,
    "backend_sampling": False,
    "lora": [],
}
"""What is echoed as `generation_settings`, in llama-server's order, with its defaults."""

_ACTED_ON = frozenset(("seed", "temperature", "max_tokens", "n_predict", "top_k"))
_OF_FLAGS = ("top_p", "min_p", "repeat_penalty")
_ECHOED = frozenset(
    name for name, value in _SETTINGS.items() if isinstance(value, int | float) and not isinstance(value, bool)
)
"""The numbers that are echoed; all but those the fake acts on have no effect on the toy model."""


@dataclass(frozen=True, slots=True)
class Params:
    """What a request wants. `n_predict` is -1 for no limit; `want` is the slot id of the body, None for any."""

    n_predict: int
    stream: bool
    cache_prompt: bool
    ignore_eos: bool
    stop: tuple[str, ...]
    return_tokens: bool
    timings_per_token: bool
    return_progress: bool
    response_fields: tuple[str, ...]
    ping_s: float | None
    seed: int
    temperature: float
    wish: Wish
    body: Body
    options: Options

    def kept_of(self, n_prompt: int, bos: bool) -> int:
        """How many of a slot's first tokens `n_keep` holds on to where the slot is full; -1 is the whole prompt."""
        n_keep = int(number(self.body, "n_keep", 0))
        return (n_prompt if n_keep < 0 else n_keep) + bos

    def settings(self, chat: bool) -> dict[str, Any]:
        """`generation_settings`."""
        found = dict(_SETTINGS)
        own = {name: getattr(self.options, name) for name in _OF_FLAGS}
        for name in _SETTINGS:
            if name in _ECHOED and name not in _ACTED_ON:
                found[name] = _like(_SETTINGS[name], number(self.body, name, own.get(name, _SETTINGS[name])))
        return found | {
            "seed": self.seed,
            "temperature": widened(max(0.0, self.temperature)),
            "top_k": max(0, int(number(self.body, "top_k", self.options.top_k))),
            "stop": list(self.stop),
            "max_tokens": self.n_predict,
            "n_predict": self.n_predict,
            "ignore_eos": self.ignore_eos,
            "stream": self.stream,
            "chat_format": "peg-native" if chat else "Content-only",
            "timings_per_token": self.timings_per_token,
            "logit_bias": self._biases(),
            "post_sampling_probs": self.wish.after_sampling,
        }

    def _biases(self) -> list[dict[str, Any]]:
        """The request's own, and the one that keeps the reply from ending."""
        return shown(self.wish) + [{"bias": None, "token": EOS_ID}] * self.ignore_eos


def _like(default: float, value: float) -> float:
    """A fraction as 32 bits keep it, a whole number as one."""
    return widened(float(value)) if isinstance(default, float) else int(value)


@lru_cache(maxsize=256)
def widened(value: float) -> float:
    """The value as it prints after a round through 32 bits."""
    if math.isinf(value) or abs(value) > 3e38:
        return 0.0
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def read_params(body: Body, options: Options, tokenizer: Tokenizer) -> Params:
    """The fields that the fake acts on. ApiError 400 for a wrong type or range, with llama-server's text."""
    for name in _ECHOED & body.keys():
        number(body, name, 0)
    return Params(
        n_predict=_n_predict(body, options.n_predict),
        stream=flag(body, "stream", False),
        cache_prompt=flag(body, "cache_prompt", options.cache_prompt),
        ignore_eos=flag(body, "ignore_eos", options.ignore_eos),
        stop=_stop(body),
        return_tokens=flag(body, "return_tokens", False),
        timings_per_token=flag(body, "timings_per_token", False),
        return_progress=flag(body, "return_progress", False),
        response_fields=_texts(body.get("response_fields")),
        ping_s=_ping(body, options.sse_ping_interval),
        seed=int(number(body, "seed", options.seed)) % (1 << 32),
        temperature=number(body, "temperature", options.temperature),
        wish=read_wish(body, tokenizer, seed=options.seed, temperature=options.temperature, top_k=options.top_k),
        body=body,
        options=options,
    )


def _n_predict(body: Body, default: int) -> int:
    for name in ("n_predict", "max_completion_tokens", "max_tokens"):
        if body.get(name) is not None:
            return integer(body, name, default, -1)
    return default


def _stop(body: Body) -> tuple[str, ...]:
    stop = body.get("stop")
    if isinstance(stop, str):
        return (stop,) if stop else ()
    return tuple(word for word in _texts(stop) if word)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _ping(body: Body, default: int) -> float | None:
    interval = integer(body, "sse_ping_interval", default, -1)
    return None if interval <= 0 else float(interval)


def body_slot(body: Mapping[str, Any]) -> int | None:
    """The body's `id_slot` as a whole number; None when it is absent, -1, or of a wrong type, which is ignored."""
    value = body.get("id_slot")
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= 1 << 62:
        return ANY_SLOT
    return ANY_SLOT if int(value) == -1 else int(value)


def read_prompt(body: Body) -> Any:
    """The `prompt` field, which has to be there."""
    if "prompt" not in body:
        raise ApiError(400, "[json.exception.out_of_range.403] key 'prompt' not found")
    return body["prompt"]
