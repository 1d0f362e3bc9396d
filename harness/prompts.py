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
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FILLERS = (" {}", "{}", ".", " .", "\n")
_TRIES = 40


def words(number: int, rng: Random) -> str:
    """So many words, and so at least as many tokens."""
    return " ".join(rng.choice(_WORDS) for _ in range(number))


async def sized(tokens: int, rng: Random, count: Count) -> tuple[str, tuple[int, ...]]:
    """Text and ids of a prompt of exactly `tokens`. HarnessError where the tokenizer does not allow it."""
    chosen = [rng.choice(_WORDS) for _ in range(tokens)]
    text = chosen[0]
    ids = await count(text)
    if len(ids) > tokens:
        raise HarnessError(f"no prompt of {tokens} tokens: one word alone is {len(ids)} after the template")
    fitting, too_many = 1, tokens + 1
    while too_many - fitting > 1 and len(ids) != tokens:
        number = _between(fitting, too_many, tokens - len(ids))
        tried = " ".join(chosen[:number])
        found = await count(tried)
        if len(found) <= tokens:
            fitting, text, ids = number, tried, found
        else:
            too_many = number
    return await _filled(text, ids, tokens, rng, count)


def _between(fitting: int, too_many: int, missing: int) -> int:
    """The next number of words to try: as if each were one token, and halfway where that was too many before."""
    return fitting + missing if fitting + missing < too_many else (fitting + too_many) // 2


async def _filled(
    text: str, ids: tuple[int, ...], tokens: int, rng: Random, count: Count
) -> tuple[str, tuple[int, ...]]:
    """The rest, less than a word, is made up of letters and marks, of which some are one token nearly everywhere."""
    for number in range(_TRIES):
        if len(ids) == tokens:
            return text, ids
        longer = text + _FILLERS[number % len(_FILLERS)].format(rng.choice(_LETTERS))
        found = await count(longer)
        if len(found) <= tokens:
            text, ids = longer, found
    raise HarnessError(f"no prompt of exactly {tokens} tokens was found; the nearest has {len(ids)}")
