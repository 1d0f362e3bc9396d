"""What a request says of how its tokens are chosen: biases, a seed to draw with, and how many probabilities to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fakes.api_error import ApiError
from fakes.body import Body, flag, integer, number
from fakes.sampling import FORBIDDEN, Wish
from fakes.tokenizer import Tokenizer

RANDOM_SEED = 4294967295
"""No seed: the toy model's own, greedy choice, which is the same each time."""
CHAT_LOGPROBS = 20
_INT_MIN = -(1 << 31)
_CHOOSING = frozenset(("logit_bias", "n_probs", "seed", "post_sampling_probs"))
"""Without any of these, temperature and `top_k` change nothing."""
_PLAIN = Wish()


def read_wish(body: Body, tokenizer: Tokenizer, *, seed: int, temperature: float, top_k: int) -> Wish:
    """The wish, with the defaults of seed, temperature and top_k. ApiError 400 for a field of a wrong type."""
    if seed < 0 and _CHOOSING.isdisjoint(body):
        return _PLAIN
    wanted = int(number(body, "seed", seed)) % (1 << 32)
    return Wish(
        bias=dict(_biases(body.get("logit_bias"), tokenizer)),
        seed=None if wanted == RANDOM_SEED else wanted,
        temperature=number(body, "temperature", temperature),
        top_k=integer(body, "top_k", top_k, _INT_MIN),
        n_probs=integer(body, "n_probs", 0, _INT_MIN),
        after_sampling=flag(body, "post_sampling_probs", False),
    )


def of_text(body: Body) -> Body:
    """OpenAI's `logprobs` of a text completion, as `n_probs`."""
    return body if body.get("logprobs") is None else body | {"n_probs": body.get("n_probs", body["logprobs"])}


def of_chat(body: Body) -> Body:
    """OpenAI's `logprobs` and `top_logprobs` of a chat, as `n_probs`. ApiError 400: the second without the first."""
    if flag(body, "logprobs", False):
        return body | {"n_probs": integer(body, "top_logprobs", CHAT_LOGPROBS, _INT_MIN)}
    if body.get("top_logprobs") is not None:
        raise ApiError(400, "top_logprobs requires logprobs to be set to true")
    return body


def _biases(value: object, tokenizer: Tokenizer) -> Iterator[tuple[int, float]]:
    """Entries that are none are passed over, and so are ids outside the vocabulary."""
    for who, bias in _entries(value):
        if bias is False:
            bias = FORBIDDEN
        elif isinstance(bias, bool) or not isinstance(bias, int | float):
            continue
        for token in _tokens(who, tokenizer):
            yield token, float(bias)


def _entries(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, Mapping):
        return [(int(who) if who.isdecimal() and len(who) < 10 else who, bias) for who, bias in value.items()]
    if not isinstance(value, list):
        return ()
    return [(each[0], each[1]) for each in value if isinstance(each, list) and len(each) == 2]


def _tokens(who: object, tokenizer: Tokenizer) -> list[int]:
    if isinstance(who, str):
        return tokenizer.encode(who, parse_special=False)
    is_id = isinstance(who, int) and not isinstance(who, bool) and 0 <= who < tokenizer.vocab
    return [who] if is_id else []  # type: ignore[list-item]


def shown(wish: Wish) -> list[dict[str, Any]]:
    """The biases as `generation_settings` has them; a forbidden token's is null."""
    return [{"bias": bias if bias > FORBIDDEN else None, "token": token} for token, bias in wish.bias.items()]
