"""The router's lines on stderr, one function each. As text they are exactly what the docs say; as JSON each carries
the time, a level and the request's id beside the same text.

Never given a key, a prompt or a reply: what foreign text gets here has been through `one_line`.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import TextIO

PREFIX = "hybrid: "
NAME = "kvgate-router: "


@dataclass(frozen=True, slots=True)
class Figures:
    """Where a handed-over request's time went, in ms. `share` is exactly 0 unless cells were adopted."""

    prefill: float = 0.0
    restore: float = 0.0
    share: float = 0.0


class Log:
    """One stream of lines. `for_request` gives the same with a request's id bound to it."""

    def __init__(self, as_json: bool, stream: TextIO | None = None, request_id: str | None = None) -> None:
        self._as_json = as_json
        self._stream = stream if stream is not None else sys.stderr
        self._request_id = request_id

    def for_request(self, request_id: str) -> Log:
        return Log(self._as_json, self._stream, request_id)

    def hybrid(self, text: str) -> None:
        """What befell a handoff."""
        self._write("warning", PREFIX + text)

    def handed_over(self, n_prompt: int, figures: Figures, first_byte_ms: float) -> None:
        """The one line of a request whose handoff succeeded, when its reply has ended."""
        self._write(
            "info",
            f"{PREFIX}{n_prompt} prompt tokens: prefill {figures.prefill:.0f} ms, restore {figures.restore:.0f} ms, "
            f"share {figures.share:.3f} ms, first byte {first_byte_ms:.0f} ms",
            n_prompt=n_prompt,
            prefill_ms=round(figures.prefill, 3),
            restore_ms=round(figures.restore, 3),
            share_ms=round(figures.share, 3),
            first_byte_ms=round(first_byte_ms, 3),
        )

    def served(self, text: str, **fields: object) -> None:
        """The one line that every request ends with."""
        self._write("info", NAME + text, **fields)

    def says(self, text: str) -> None:
        """About the router itself."""
        self._write("info", NAME + text)

    def error(self, text: str) -> None:
        """Why the router cannot start or go on."""
        self._write("error", f"{NAME}error: {text}")

    def relayed(self, source: str, text: str) -> None:
        """A line of the decoder's or the provider's own."""
        self._write("info", f"{source}: {text}", source=source)

    def _write(self, level: str, text: str, **fields: object) -> None:
        if self._as_json:
            head = {"ts": round(time.time(), 6), "level": level, "request_id": self._request_id, "message": text}
            text = json.dumps({**head, **fields})
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except (BrokenPipeError, ValueError):
            # Nobody reads the log any more. That is no reason to stop serving.
            return
