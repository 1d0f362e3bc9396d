"""Foreign text made fit for one log line: control characters escaped, cut at a number of bytes."""

from __future__ import annotations

MAX_BYTES = 300


def one_line(raw: bytes, max_bytes: int = MAX_BYTES) -> str:
    """`raw` on one line, at most `max_bytes` of it."""
    cut = raw[:max_bytes].decode("utf-8", "ignore" if len(raw) > max_bytes else "replace")
    return "".join(ch if ch.isprintable() else _escaped(ch) for ch in cut.strip())


def _escaped(ch: str) -> str:
    return ch.encode("unicode_escape").decode("ascii")
