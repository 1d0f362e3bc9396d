"""What a decoder said for one prompt, token by token, with the candidates it had. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Choice:
    """One position: the token chosen, and the best candidates as (id, log probability), the best first."""

    id: int
    tops: tuple[tuple[int, float], ...]

    @property
    def margin(self) -> float | None:
        """Best minus second best."""
        return self.tops[0][1] - self.tops[1][1] if len(self.tops) > 1 else None

    def logprob(self, token: int) -> float | None:
        """Of a token, where it is among the best."""
        return next((logprob for id_, logprob in self.tops if id_ == token), None)


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole reply. `cache_n` and `prompt_n` are the decoder's own count for it."""

    choices: tuple[Choice, ...]
    cache_n: int
    prompt_n: int

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(choice.id for choice in self.choices)


def read(body: Mapping[str, Any]) -> Trace:
    """The trace in a completion's answer. KeyError or TypeError where it is none."""
    choices = []
    for entry in body["completion_probabilities"]:
        tops = sorted(((int(t["id"]), float(t["logprob"])) for t in entry["top_logprobs"]), key=lambda t: -t[1])
        choices.append(Choice(int(entry["id"]), tuple(tops)))
    timings = body["timings"]
    return Trace(tuple(choices), int(timings["cache_n"]), int(timings["prompt_n"]))
