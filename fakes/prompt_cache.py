"""Copies of slots in the host's memory (`--cache-ram`): what a slot has lost may come back from there.

    kept       a slot that a request takes because it was idle longest, or that keeps less than half of its tokens
               there; and with `--cache-idle-slots` every idle slot whenever a request starts
    comes back the copy that has more of the prompt than the slot and than any other, in tokens and as a share of
               itself, if that share is at least a quarter; it then leaves the cache
    forgotten  a copy that another one begins with, and the oldest ones beyond the limit

Knows token lists and rows, and nothing of slots.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from fakes.slots import common_prefix

MIB = 1 << 20
_LEAST_KEPT = 0.25
_TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class Copy:
    """The tokens of a slot and their rows, tensor by tensor."""

    tokens: array[int]
    rows: list[bytes]

    @property
    def size(self) -> int:
        return sum(map(len, self.rows)) + _TOKEN_BYTES * len(self.tokens)


class PromptCache:
    """`limit_mib` is negative for no limit, 0 for none at all."""

    def __init__(self, limit_mib: int) -> None:
        self._limit = limit_mib * MIB
        self._copies: dict[bytes, Copy] = {}
        """By their tokens, the oldest first: nearly always an idle slot is looked up that was copied as it is."""
        self._size = 0

    @property
    def is_on(self) -> bool:
        return self._limit != 0

    def has(self, tokens: array[int]) -> bool:
        """Whether a copy begins with all of these."""
        return tokens.tobytes() in self._copies or any(_begins(copy.tokens, tokens) for copy in self._copies.values())

    def keep(self, tokens: array[int], rows: Sequence[bytes | memoryview]) -> None:
        """Copy them. There must be some."""
        for covered in [key for key, copy in self._copies.items() if _begins(tokens, copy.tokens)]:
            self._forget(covered)
        copy = Copy(tokens[:], [bytes(part) for part in rows])
        self._copies[tokens.tobytes()] = copy
        self._size += copy.size
        while 0 < self._limit < self._size and len(self._copies) > 1:
            self._forget(next(iter(self._copies)))

    def _forget(self, key: bytes) -> Copy:
        copy = self._copies.pop(key)
        self._size -= copy.size
        return copy

    def take(self, held: array[int], prompt: array[int]) -> Copy | None:
        """The copy that serves `prompt` better than a slot that holds `held`; it is not in the cache any more."""
        common = common_prefix(held, prompt)
        best_kept = common / len(held) if held else -1.0
        found: Copy | None = None
        for copy in self._copies.values():
            there = common_prefix(copy.tokens, prompt)
            kept = there / len(copy.tokens)
            if kept >= _LEAST_KEPT and kept > best_kept and there > common:
                found, best_kept, common = copy, kept, there
        return None if found is None else self._forget(found.tokens.tobytes())


def _begins(whole: array[int], part: array[int]) -> bool:
    last = len(part) - 1
    return last < len(whole) and whole[last] == part[last] and whole[: last + 1] == part
