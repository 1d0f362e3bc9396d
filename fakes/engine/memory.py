"""What a slot of the toy engine remembers: cells, and for a hybrid model a recurrent state besides.

Cells can be cut anywhere. The recurrent state absorbs token after token and cannot step back: after a cut it stays
where it stood, and only a snapshot brings an earlier one back. The next token depends on both, so a hybrid slot that
resumes with a recurrent state one token ahead answers differently, as a real one does.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b
from zlib import crc32

from fakes.model import ToyModel
from fakes.spec import Kind

RECURRENT_BYTES = 32


class Memory:
    """The memory of one slot, empty at first."""

    def __init__(self, model: ToyModel) -> None:
        self._model = model
        self._hybrid = model.spec.kind is Kind.HYBRID
        self.cells: list[bytes] = []
        self.recurrent = b""
        self.absorbed = 0
        self._sums: list[int] | None = None
        self._summed = 0

    @property
    def hybrid(self) -> bool:
        return self._hybrid

    @property
    def recurrent_bytes(self) -> int:
        """How many bytes of recurrent state a slot of this model has once it holds a token."""
        return RECURRENT_BYTES if self._hybrid else 0

    def clear(self) -> None:
        self.load((), b"", 0)

    def load(self, cells: Sequence[bytes], recurrent: bytes, absorbed: int) -> None:
        """Cells and recurrent state from elsewhere; nobody looks whether they belong together."""
        self.cells = list(cells)
        self.load_recurrent(recurrent, absorbed)
        self._forget_sums()

    def load_recurrent(self, recurrent: bytes, absorbed: int) -> None:
        self.recurrent, self.absorbed = recurrent, absorbed

    def cut(self, n_cells: int) -> None:
        """Removes cells from `n_cells` on. The recurrent state of a hybrid model stays where it is, unless all go."""
        del self.cells[n_cells:]
        if self._summed > n_cells:
            self._forget_sums()
        if n_cells == 0:
            self.load_recurrent(b"", 0)

    def evaluate(self, tokens: Sequence[int]) -> None:
        previous = self.cells[-1] if self.cells else b""
        self.cells += self._model.cells(tokens, previous)
        if self._hybrid:
            for token in tokens:
                self.recurrent = self._absorb(token)
        self.absorbed += len(tokens)

    def next_token(self, *, ignore_eos: bool = False) -> int:
        """The greedy next token behind what is remembered; at least one cell is."""
        fresh = self._model.rows(self.cells[self._summed :])
        if self._summed < len(self.cells):
            self._sums = self._model.sums(fresh, self._sums)
            self._summed = len(self.cells)
        sums = self._sums or []
        if self._hybrid:
            state = crc32(self.recurrent)
            sums = [part ^ state for part in sums]
        return self._model.next_token(sums, ignore_eos=ignore_eos)

    def _absorb(self, token: int) -> bytes:
        seed = struct.pack("<Qi", self._model.spec.seed, token)
        return blake2b(seed + self.recurrent, digest_size=RECURRENT_BYTES).digest()

    def _forget_sums(self) -> None:
        self._sums, self._summed = None, 0
