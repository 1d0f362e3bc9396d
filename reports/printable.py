"""Text of other processes made fit to be shown: nothing in it can steer a terminal or break a line."""

from __future__ import annotations

import re
import textwrap

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """One line: control characters, line ends and direction marks become visible escapes."""
    return _CONTROL.sub(_escape, text)


def printable_lines(text: str) -> list[str]:
    """The lines of `text`, each fit to be shown; tabs become spaces."""
    return [printable(line.expandtabs(4)) for line in text.split("\n")] if text else []


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of `text` folded to `width`; words longer than a line are cut, paths too."""
    room = max(20, width)
    lines = []
    for line in printable_lines(text.rstrip("\n")):
        lines += textwrap.wrap(line, room, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False) or [
            ""
        ]
    return lines


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` columns, the middle left out where it is longer."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
