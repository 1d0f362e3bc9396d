"""Near spellings for a mistyped name."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` for the nearest names, or what is known when nothing is near."""
    from difflib import get_close_matches  # slow to import, and only wanted when something is wrong

    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; known are {', '.join(names)}"
