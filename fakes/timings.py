"""The `timings` of a reply: counters from the slot's tokens and the request, times from the clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_NEVER_ZERO_MS = 0.001


@dataclass(slots=True)
class Timings:
    """Counts of one completion and when its phases began and ended, in ns of the clock handed in."""

    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0
    start_ns: int = 0
    first_ns: int = 0
    end_ns: int = 0

    @property
    def prompt_ms(self) -> float:
        return _milliseconds(self.first_ns - self.start_ns)

    @property
    def predicted_ms(self) -> float:
        """Covers all tokens but the first."""
        return _milliseconds(self.end_ns - self.first_ns if self.predicted_n > 1 else 0)

    def so_far(self, now_ns: int) -> dict[str, Any]:
        """The object while the prompt is evaluated: what has not begun took no time."""
        self.first_ns = self.end_ns = now_ns
        found = self.to_json() | {"predicted_ms": 0.0}
        return found if self.prompt_n else found | {"prompt_ms": 0.0, "prompt_per_second": 0.0}

    def to_json(self) -> dict[str, Any]:
        """The object, with the rates that leave out the first token."""
        prompt_ms, predicted_ms, steps = self.prompt_ms, self.predicted_ms, self.predicted_n - 1
        return {
            "cache_n": self.cache_n,
            "prompt_n": self.prompt_n,
            "prompt_ms": prompt_ms,
            "prompt_per_token_ms": prompt_ms / self.prompt_n if self.prompt_n else 0.0,
            "prompt_per_second": 1e3 / prompt_ms * self.prompt_n,
            "predicted_n": self.predicted_n,
            "predicted_ms": predicted_ms,
            "predicted_per_token_ms": predicted_ms / steps if steps > 0 else 0.0,
            "predicted_per_second": 1e3 / predicted_ms * steps if steps > 0 else 0.0,
        }


def _milliseconds(duration_ns: int) -> float:
    return duration_ns // 1000 / 1000 if duration_ns >= 1000 else _NEVER_ZERO_MS
