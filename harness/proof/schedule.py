"""In which order a comparison runs its jobs: builds side by side, so that a slow minute hits all of them.

Pure. Without repeats the order is the one given, the first build first. With repeats both the scenarios and
the builds within each are shuffled anew every time, so that no order is the reason for a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Job(Generic[S]):
    """One scenario on one build, for the `repeat`-th time from 0."""

    scenario: S
    build: str
    repeat: int


def interleaved(scenarios: Sequence[S], builds: Sequence[str], repeat: int, rng: Random | None) -> Iterator[Job[S]]:
    """Every scenario on every build `repeat` times; `rng` shuffles, None keeps the order given."""
    for turn in range(repeat):
        for scenario in _shuffled(scenarios, rng):
            for build in _shuffled(builds, rng):
                yield Job(scenario, build, turn)


def _shuffled(items: Sequence[S], rng: Random | None) -> Sequence[S]:
    return items if rng is None else rng.sample(items, len(items))
