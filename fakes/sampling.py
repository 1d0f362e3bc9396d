"""Which token comes next where that is not simply the greedy one: biases, draws with a seed, and the likeliest tokens.

    logits of the k-th likeliest token   minus k times a gap that the rows give, 0 for the greedy one
    of every other token                 `FLOOR`
    with a bias                          plus that; a forbidden token is never chosen
    drawn                                by softmax of logits / temperature over the first `top_k`, where the request
                                         names a seed and its temperature is above 0; else the largest is taken

The seed and the position in the reply decide a draw and nothing else does, so the same request draws the same reply.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fakes.model import ToyModel
from fakes.tokenizer import EOS_ID

RANKS = 40
"""So many of the likeliest tokens have logits of their own."""
FLOOR = -20.0
FORBIDDEN = -math.inf


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request wants of its tokens. `seed` is None where nothing is drawn."""

    bias: Mapping[int, float] = field(default_factory=dict)
    seed: int | None = None
    temperature: float = 0.0
    top_k: int = 40
    n_probs: int = 0
    after_sampling: bool = False

    @property
    def is_plain(self) -> bool:
        """Greedy, with nothing to tell of: the model's own next token will do."""
        return not self.bias and not self.n_probs and not self.draws

    @property
    def draws(self) -> bool:
        return self.seed is not None and self.temperature > 0 and self.top_k != 1


class Sampler:
    """The tokens of one reply, and what is told of each."""

    def __init__(self, model: ToyModel, wish: Wish, *, ignore_eos: bool) -> None:
        self._model = model
        self._wish = wish
        self._ignore_eos = ignore_eos
        self._random = Random(wish.seed)
        self.told: list[dict[str, Any]] = []
        """For each token its probability and the likeliest, as `completion_probabilities` has them."""

    def next_token(self, sums: Sequence[int]) -> int:
        """The next token behind cells with these checksums."""
        logits = self._model.likeliest(sums, max(RANKS, self._wish.n_probs), ignore_eos=self._ignore_eos)
        biased = self._biased(logits)
        ranked = sorted(biased, key=lambda token: -biased[token])
        token = self._drawn(ranked, biased) if self._wish.draws else ranked[0]
        if self._wish.n_probs:
            sampled = self._wish.after_sampling
            self.told.append(self._after(token, ranked, biased) if sampled else self._tell(token, logits))
        return token

    def _biased(self, logits: Mapping[int, float]) -> dict[int, float]:
        found = dict(logits)
        for token, bias in self._wish.bias.items():
            found[token] = found.get(token, FLOOR) + bias
        if self._ignore_eos and EOS_ID in found:
            found[EOS_ID] = FORBIDDEN
        return found

    def _drawn(self, ranked: Sequence[int], logits: Mapping[int, float]) -> int:
        among = [token for token in ranked if logits[token] > FORBIDDEN]
        among = among[: self._wish.top_k] if self._wish.top_k > 0 else among
        top = logits[among[0]]
        weights = [math.exp((logits[token] - top) / self._wish.temperature) for token in among]
        return self._random.choices(among, weights)[0]

    def _tell(self, token: int, logits: Mapping[int, float]) -> dict[str, Any]:
        total = _log_sum(logits.values())
        top = list(logits.items())[: self._wish.n_probs]
        listed = [self._named(each) | {"logprob": logit - total} for each, logit in top]
        return self._named(token) | {"logprob": logits.get(token, FLOOR) - total, "top_logprobs": listed}

    def _after(self, token: int, ranked: Sequence[int], logits: Mapping[int, float]) -> dict[str, Any]:
        if not self._wish.draws:
            one = self._named(token) | {"prob": 1.0}
            return one | {"top_probs": [dict(one)]}
        temperature = self._wish.temperature
        total = _log_sum(logit / temperature for logit in logits.values())
        probs = {each: math.exp(logits[each] / temperature - total) for each in ranked}
        top = [self._named(each) | {"prob": probs[each]} for each in ranked[: self._wish.n_probs]]
        return self._named(token) | {"prob": probs[token], "top_probs": top}

    def _named(self, token: int) -> dict[str, Any]:
        piece = self._model.tokenizer.piece(token)
        return {"id": token, "token": piece.decode(errors="replace"), "bytes": list(piece)}


def _log_sum(logits: Any) -> float:
    found = [each for each in logits if each > FORBIDDEN]
    top = max(found)
    return float(top + math.log(sum(math.exp(each - top) for each in found)))
