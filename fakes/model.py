"""The toy model: rows out of tokens, and the next token out of rows.

    rows of cell i    a hash of the seed, the rows of cell i-1 and the token of cell i
    next token        a checksum of the checksums of all tensors, each over all cells so far

So a row depends on the whole prefix, as attention's rows do, and the answer depends on the bytes that lie in the
slot and on nothing else: rows of one prompt under the tokens of another give the answer of the first, and a
changed byte in any row, layer, K or V changes it (a CRC-32 always sees a single changed byte). The checksums run
along, so that another token costs no second look at what stands before it.

Pure: knows nothing of slots, memory or requests.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import shake_128
from zlib import crc32

from fakes.spec import ModelSpec
from fakes.tokenizer import EOS_ID, Tokenizer

TOKEN_BYTES = 4


class ToyModel:
    """One toy model. A cell is the rows of one token in all tensors, K and V of layer 0 first."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.tokenizer = Tokenizer(spec.vocab, bos=spec.bos == 1)
        self.n_tensors = 2 * spec.layers
        self.cell_bytes = self.n_tensors * spec.row_bytes
        self._seed_sum = spec.seed & 0xFFFFFFFF
        self._seed = struct.pack("<Q", spec.seed)
        self._spans = [slice(i * spec.row_bytes, (i + 1) * spec.row_bytes) for i in range(self.n_tensors)]
        self._pack_sums = struct.Struct(f"<{self.n_tensors}I").pack

    def cells(self, tokens: Iterable[int], previous: bytes = b"") -> list[bytes]:
        """The cells of `tokens` behind the cell `previous` (empty at the start)."""
        found, seed, size = [], self._seed, self.cell_bytes
        for token in tokens:
            previous = shake_128(seed + previous + token.to_bytes(TOKEN_BYTES, "little")).digest(size)
            found.append(previous)
        return found

    def rows(self, cells: Sequence[bytes]) -> list[bytes]:
        """The same bytes tensor by tensor: for each, its rows of all cells one after the other."""
        if len(cells) == 1:
            return [cells[0][span] for span in self._spans]
        return [b"".join([cell[span] for cell in cells]) for span in self._spans]

    def sums(self, rows: Iterable[bytes | memoryview], before: Sequence[int] | None = None) -> list[int]:
        """The running checksums after `rows` (tensor by tensor), going on from `before`."""
        if before is None:
            return [crc32(part) for part in rows]
        return [crc32(part, start) for part, start in zip(rows, before, strict=True)]

    def follow(self, token: int, last: bytes, sums: Sequence[int]) -> tuple[bytes, list[int]]:
        """The cell of one more token behind the cell `last`, and the checksums with it. What decoding does most."""
        cell = shake_128(self._seed + last + token.to_bytes(TOKEN_BYTES, "little")).digest(self.cell_bytes)
        return cell, [crc32(cell[span], before) for span, before in zip(self._spans, sums, strict=True)]

    def next_token(self, sums: Sequence[int], *, ignore_eos: bool = False) -> int:
        """The greedy next token behind cells with these checksums. Ends the text only where the spec wants it."""
        drawn = crc32(self._pack_sums(*sums), self._seed_sum)
        if self.spec.eos and not ignore_eos and drawn % self.spec.eos == 0:
            return EOS_ID
        words = self.tokenizer.words
        return words[(drawn >> 8) % len(words)]

    def likeliest(self, sums: Sequence[int], n_tokens: int, *, ignore_eos: bool = False) -> dict[int, float]:
        """The likeliest next tokens and their logits, the greedy one first with 0, each a gap below the one before."""
        drawn = crc32(self._pack_sums(*sums), self._seed_sum)
        words, found = self.tokenizer.words, {self.next_token(sums, ignore_eos=ignore_eos): 0.0}
        gap = (1 + drawn % 97) / 97
        rank = 0
        while len(found) < min(n_tokens, len(words)):
            rank += 1
            token = words[crc32(rank.to_bytes(4, "little"), drawn) % len(words)]
            found.setdefault(token, -gap * len(found))
        return found
