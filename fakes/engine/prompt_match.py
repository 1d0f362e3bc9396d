"""From the tokens a slot knows and the tokens of a prompt to the position where evaluation starts.

Five rows, the first that applies. A slot that knows no tokens matches nothing, whatever its KV holds: that is how a
restore without its token list becomes a whole second prefill, with no error anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile


class Row(IntEnum):
    """Which row of the protocol's table applied."""

    RESTORED_LOGITS = 1
    EXACT = 2
    DIVERGED = 3
    EXTENDED = 4
    NOT_CACHED = 5


@dataclass(frozen=True, slots=True)
class PromptMatch:
    """`n_past` is kept, KV from there on is removed, and `n_new - n_past` tokens are evaluated."""

    row: Row
    n_slot: int
    n_new: int
    n_common: int
    n_past: int

    @property
    def evaluated(self) -> int:
        return self.n_new - self.n_past

    @property
    def logits_reused(self) -> bool:
        return self.row is Row.RESTORED_LOGITS


def match_prompt(
    slot: Sequence[int], prompt: Sequence[int], *, restored_logits: bool = False, cache_prompt: bool = True
) -> PromptMatch:
    """`restored_logits`: logits of exactly the last token the slot knows came with its KV. The prompt is not empty."""
    n_common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(slot, prompt, strict=False)))
    row = _row(len(slot), len(prompt), n_common, restored_logits, cache_prompt)
    n_past = {
        Row.RESTORED_LOGITS: len(prompt) - 1,
        Row.EXACT: len(prompt) - 1,
        Row.DIVERGED: n_common,
        Row.EXTENDED: n_common,
        Row.NOT_CACHED: 0,
    }[row]
    return PromptMatch(row, len(slot), len(prompt), n_common, n_past)


def _row(n_slot: int, n_new: int, n_common: int, restored_logits: bool, cache_prompt: bool) -> Row:
    if not cache_prompt:
        return Row.NOT_CACHED
    if n_common == n_new:
        return Row.RESTORED_LOGITS if restored_logits and n_slot == n_new else Row.EXACT
    return Row.DIVERGED if n_common < n_slot else Row.EXTENDED
