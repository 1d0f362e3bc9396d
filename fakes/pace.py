"""How long work takes: rates, more of it where more slots work, and a draw around it.

    seconds    n / rate * (1 + slow_down * (busy - 1)) * factor
    factor     1 without jitter, else drawn for each wait:
               uniform:S   between 1 - S and 1 + S
               normal:S    with mean 1 and deviation S, not below 0
               exp:S       1 + S * an exponential draw with mean 1: a tail of slow ones

`busy` counts the slots that work, this one too. The draws come from one generator with the seed of `--jitter-seed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

JITTERS: dict[str, Callable[[Random, float], float]] = {
    "uniform": lambda random, size: random.uniform(1 - size, 1 + size),
    "normal": lambda random, size: max(0.0, random.gauss(1.0, size)),
    "exp": lambda random, size: 1 + size * random.expovariate(1.0),
}


@dataclass(frozen=True, slots=True)
class Jitter:
    """A distribution and its size; a size of 0 draws nothing."""

    kind: str = "uniform"
    size: float = 0.0


NO_JITTER = Jitter()


def read_jitter(text: str) -> Jitter:
    """`KIND:SIZE`, such as `normal:0.2`. ValueError: it is none."""
    kind, _, size = text.partition(":")
    try:
        found = Jitter(kind, float(size))
    except ValueError:
        found = Jitter(kind, -1.0)
    if kind not in JITTERS or not 0 <= found.size <= (1 if kind == "uniform" else 100):
        raise ValueError(f"expected {', '.join(JITTERS)} and a size, such as normal:0.2, not {text!r}")
    return found


class Pace:
    """Waits of one decoder. A rate of 0 takes no time."""

    def __init__(self, slow_down: float, jitter: Jitter, seed: int) -> None:
        self._slow_down = slow_down
        self._jitter = jitter
        self._random = Random(seed)

    def seconds(self, n_tokens: int, rate: float, n_busy: int) -> float:
        """For `n_tokens` at `rate` tokens a second, while `n_busy` slots work."""
        if not rate:
            return 0.0
        taken = n_tokens / rate * (1 + self._slow_down * max(0, n_busy - 1))
        return taken * JITTERS[self._jitter.kind](self._random, self._jitter.size) if self._jitter.size else taken
