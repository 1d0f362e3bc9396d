"""The toy tokenizer: text to token ids and back, without loss for any text.

Ids: special tokens, then one token for each byte, then pieces (words with and without a space in front, pairs of
letters, made-up syllables) until the vocabulary is full. Text is cut into words and runs first, as real
tokenizers do, and each of them is covered by the longest pieces, bytes where nothing longer fits.

Knows nothing of chat templates or rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product

from fakes.words import WORDS

BOS = "<s>"
EOS = "</s>"
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
SPECIALS = (BOS, EOS, TURN_START, TURN_END)

BOS_ID, EOS_ID, TURN_START_ID, TURN_END_ID = range(4)
FIRST_BYTE_ID = len(SPECIALS)
FIRST_PIECE_ID = FIRST_BYTE_ID + 256
MIN_VOCAB = FIRST_PIECE_ID + 64
MAX_VOCAB = 65536

_CHUNK = re.compile(r" ?\w+| ?[^\w\s]+|\s+")
_SPECIAL = re.compile("(" + "|".join(re.escape(special) for special in SPECIALS) + ")")
_MAX_KNOWN_CHUNKS = 20_000
_CONSONANTS, _VOWELS, _LETTERS = "bcdfghjklmnprstvwz", "aeiou", "abcdefghijklmnopqrstuvwxyz"


class Tokenizer:
    """One vocabulary of `vocab` tokens, the same for the same number everywhere. `bos`: texts begin with BOS."""

    def __init__(self, vocab: int, *, bos: bool = True) -> None:
        self.vocab = vocab
        self.bos = bos
        self._pieces: list[bytes] = [special.encode() for special in SPECIALS]
        self._pieces += [bytes((byte,)) for byte in range(256)]
        self._pieces += islice(_made_pieces(), vocab - len(self._pieces))
        self._ids = {piece: FIRST_BYTE_ID + i for i, piece in enumerate(self._pieces[FIRST_BYTE_ID:])}
        self._longest = max(map(len, self._ids))
        self._known: dict[str, tuple[int, ...]] = {}
        self.words = tuple(id for piece, id in self._ids.items() if piece[:1] == b" " and piece[1:2].islower())
        """Ids of the pieces that read as a word with a space in front: what the toy model answers with."""

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = True) -> list[int]:
        """The ids of `text`, BOS in front with `add_special` if there is one. UnicodeEncodeError: a lone surrogate."""
        ids = [BOS_ID] if add_special and self.bos else []
        if parse_special and "<" in text:
            for part in _SPECIAL.split(text):
                if part in SPECIALS:
                    ids.append(SPECIALS.index(part))
                else:
                    self._encode_plain(part, ids)
        else:
            self._encode_plain(text, ids)
        return ids

    def piece(self, token: int) -> bytes:
        """The bytes of one token. IndexError for an id outside the vocabulary."""
        if token < 0:
            raise IndexError(token)
        return self._pieces[token]

    def decode(self, tokens: Iterable[int]) -> bytes:
        """The bytes of all of them; special tokens come out as their text."""
        return b"".join(map(self.piece, tokens))

    def _encode_plain(self, text: str, ids: list[int]) -> None:
        known = self._known
        for chunk in _CHUNK.findall(text):
            found = known.get(chunk)
            if found is None:
                found = tuple(self._cover(chunk.encode()))
                if len(known) < _MAX_KNOWN_CHUNKS and len(chunk) <= 32:
                    known[chunk] = found
            ids += found

    def _cover(self, chunk: bytes) -> Iterator[int]:
        at = 0
        while at < len(chunk):
            for size in range(min(self._longest, len(chunk) - at), 0, -1):
                token = self._ids.get(chunk[at : at + size])
                if token is not None:
                    yield token
                    at += size
                    break


def _made_pieces() -> Iterator[bytes]:
    """Every piece longer than a byte, in the order of their ids, each once."""
    seen: set[str] = set()
    for piece in _candidates():
        if piece not in seen:
            seen.add(piece)
            yield piece.encode()


def _candidates() -> Iterator[str]:
    yield from (f" {word}" for word in WORDS if len(word) > 1)
    yield from (word for word in WORDS if len(word) > 1)
    yield from (f" {word.capitalize()}" for word in WORDS)
    yield from ("".join(pair) for pair in product(_LETTERS, repeat=2))
    yield from (" " + "".join(made) for made in product(_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS))
    yield from (" " + "".join(made) for made in product(_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS, _CONSONANTS))
