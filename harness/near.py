"""Near spellings, for errors about names that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'faults'?`, or what there is to choose from, or nothing at all."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(repr(name) for name in close) + "?"
    return f"; known: {', '.join(names)}" if 0 < len(names) <= _FEW else ""


_FEW = 30
