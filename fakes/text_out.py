"""Turning tokens into the text that may go out: nothing that could still become a stop word or half a character."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_CHARACTER = 4


class TextOut:
    """Feed it the bytes of each token; it gives back text once it is sure of it."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = [word.encode() for word in stop]
        self._held = b""
        self.stopped_by = ""
        """The stop word that ended the text; it and what follows are cut."""

    def feed(self, piece: bytes) -> str:
        """The text that is certain now."""
        if not self._stop and not self._held and piece.isascii():
            return piece.decode()
        self._held += piece
        found = min(
            ((self._held.find(word), word) for word in self._stop if word in self._held),
            default=None,
            key=lambda at: at[0],
        )
        if found is not None:
            self.stopped_by = found[1].decode()
            return self._release(found[0])
        return self._release(self._certain())

    def end(self) -> str:
        """What was held back, now that nothing follows."""
        return "" if self.stopped_by else self._release(len(self._held))

    def _certain(self) -> int:
        held = self._held
        sure = len(held)
        for word in self._stop:
            for size in range(min(len(word) - 1, len(held)), 0, -1):
                if held.endswith(word[:size]):
                    sure = min(sure, len(held) - size)
                    break
        return min(sure, len(held) - _unfinished(held))

    def _release(self, size: int) -> str:
        out, self._held = self._held[:size], self._held[size:]
        return out.decode(errors="replace")


def _unfinished(held: bytes) -> int:
    """How many bytes at the end are the start of a character that is not whole."""
    for back in range(1, min(_MAX_CHARACTER, len(held) + 1)):
        byte = held[-back]
        if byte & 0xC0 == 0x80:
            continue
        wanted = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if wanted > back else 0
    return 0
