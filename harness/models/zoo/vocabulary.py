"""A byte-level BPE vocabulary made of syllables: any text goes in, and what the models say can be read.

Ids: the specials, then the 256 bytes, then one id per merge. Merges only ever join what earlier ones made, so all
of them can happen. The order is drawn from a seed of its own: all zoo models share one vocabulary.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

SIZE = 4096
SEED = 20
END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIALS = (END_OF_TEXT, TURN_START, TURN_END)

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_CONSONANTS = "bcdfghjklmnprstvwyz"
_VOWELS = "aeiou"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`unsayable` are the ids whose output is silenced: specials, and bytes that are not printable ASCII."""

    tokens: tuple[str, ...]
    merges: tuple[str, ...]
    unsayable: tuple[int, ...]

    def id_of(self, token: str) -> int:
        return self.tokens.index(token)


def byte_letters() -> tuple[str, ...]:
    """The letter that stands for each byte in byte-level BPE: printable ones for themselves, others from 256 up."""
    plain = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = itertools.count(256)
    return tuple(chr(byte) if byte in plain else chr(next(spare)) for byte in range(256))


def make(size: int = SIZE) -> Vocabulary:
    letters = byte_letters()
    pairs = _merges(letters[ord(" ")])[: size - len(SPECIALS) - len(letters)]
    tokens = (*SPECIALS, *letters, *(left + right for left, right in pairs))
    silent = [byte for byte in range(256) if not 0x20 <= byte < 0x7F]
    return Vocabulary(
        tokens=tokens,
        merges=tuple(f"{left} {right}" for left, right in pairs),
        unsayable=(*range(len(SPECIALS)), *(len(SPECIALS) + byte for byte in silent)),
    )


def _merges(space: str) -> list[tuple[str, str]]:
    """Syllables, syllables that begin a word, then words of two syllables until there are enough."""
    syllables = [(consonant, vowel) for consonant in _CONSONANTS for vowel in _VOWELS]
    open_ = [consonant + vowel for consonant, vowel in syllables]
    begun = [(space, syllable) for syllable in open_]
    letters = [(space, letter) for letter in _CONSONANTS + _VOWELS]
    longer = [(first, second) for first in (*open_, *(space + one for one in open_)) for second in open_]
    random.Random(SEED).shuffle(longer)
    return [*syllables, *begun, *letters, *longer]
