"""Near spellings, for errors about names that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_FEW = 30
_NEAR = 0.6
_AS_NEAR = 0.15
"""Names this much farther off than the nearest are not what was meant."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'faults'?`, or what there is to choose from, or nothing at all."""
    names = [str(name) for name in known]
    near = sorted(((SequenceMatcher(None, word, name).ratio(), name) for name in names), reverse=True)[:3]
    close = [name for ratio, name in near if ratio >= max(_NEAR, near[0][0] - _AS_NEAR)]
    if close:
        return "; did you mean " + " or ".join(f"'{name}'" for name in close) + "?"
    return f"; known: {', '.join(names)}" if 0 < len(names) <= _FEW else ""
