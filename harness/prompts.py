"""Prompts of an exact size: as many tokens as asked for, by the decoder's own count after template and BOS.

No two requests of a scenario get the same words. The words come from a seed; the tokenizer is only ever asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random

from harness.errors import HarnessError

Count = Callable[[str], Awaitable[tuple[int, ...]]]
"""A prompt's token ids, as the decoder counts them for this very request."""

_WORDS = (
    "river", "stone", "light", "house", "water", "green", "paper", "music", "table", "north", "story", "field",
    "money", "train", "apple", "cloud", "glass", "horse", "night", "plant", "queen", "round", "sugar", "tiger",
    "union", "voice", "wheel", "young", "bread", "chair", "dream", "earth", "flame", "grass", "heart", "island",
)  # fmt: skip
_TRIES = 40


async def sized(tokens: int, rng: Random, count: Count) -> tuple[str, tuple[int, ...]]:
    """Text and ids of a prompt of exactly `tokens`. HarnessError where the tokenizer does not allow it."""
    words = [rng.choice(_WORDS) for _ in range(tokens)]
    shortest = len(await count(words[0]))
    if shortest > tokens:
        raise HarnessError(f"no prompt of {tokens} tokens: one word alone is {shortest} after the template")
    number = max(1, tokens - shortest + 1)
    seen: dict[int, int] = {}
    for _ in range(_TRIES):
        text = " ".join(words[:number])
        ids = await count(text)
        if len(ids) == tokens:
            return text, ids
        seen[number] = len(ids)
        number = max(1, number + tokens - len(ids))
        if number in seen:  # the steps are coarser than the aim: other words may be finer
            words = [rng.choice(_WORDS) for _ in range(max(tokens, number))]
            seen.clear()
        words += [rng.choice(_WORDS) for _ in range(number - len(words))]
    raise HarnessError(f"no prompt of exactly {tokens} tokens was found in {_TRIES} tries; the last had {len(ids)}")
