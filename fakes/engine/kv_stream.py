"""The toy engine's KV stream: what a slot's memory is on the wire, and the reader that says how much it consumed.

    magic 4, sequence id i32, cells u32, bytes of a cell u32, recurrent state u32 + bytes, padding u64 + bytes, cells

Padding stands for the size of a real cache: it is sent and consumed and means nothing. Any number of bytes may
follow (logits do), so "consumed" is the reader's word and the only sign that the bytes were KV at all; 0 is refusal.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAGIC = bytes.fromhex("4b565459")
_HEAD = struct.Struct("<4siIII")
_PADDING = struct.Struct("<Q")
_CHUNK_BYTES = 1024 * 1024
_PATTERN = bytes(range(256)) * (_CHUNK_BYTES // 256)


@dataclass(frozen=True, slots=True)
class KvShape:
    """What a reader takes: cells of this size, at most so many, and so many bytes of recurrent state."""

    cell_bytes: int
    max_cells: int
    recurrent_bytes: int


def kv_stream_bytes(cells: Sequence[bytes], recurrent: bytes, padding: int) -> int:
    return _HEAD.size + len(recurrent) + _PADDING.size + padding + sum(map(len, cells))


def kv_stream(cells: Sequence[bytes], recurrent: bytes, padding: int, sequence: int = 0) -> Iterator[bytes]:
    """The stream in chunks of about a megabyte; nothing of it is held."""
    cell_bytes = len(cells[0]) if cells else 0
    yield _HEAD.pack(MAGIC, sequence, len(cells), cell_bytes, len(recurrent)) + recurrent + _PADDING.pack(padding)
    for at in range(0, padding, _CHUNK_BYTES):
        yield _PATTERN[: min(_CHUNK_BYTES, padding - at)]
    step = max(1, _CHUNK_BYTES // max(1, cell_bytes))
    for at in range(0, len(cells), step):
        yield b"".join(cells[at : at + step])


class KvReader:
    """Fed in any chunking; `remainder` is what came behind the KV, kept up to `max_remainder` bytes."""

    def __init__(self, shape: KvShape, max_remainder: int) -> None:
        self._shape = shape
        self._max_remainder = max_remainder
        self._pending = bytearray()
        self._head: tuple[int, int] | None = None
        self._padding: int | None = None
        self._refused = False
        self.recurrent = b""
        self.cells: list[bytes] = []
        self.consumed = 0
        self.remainder = b""
        self.remainder_bytes = 0

    @property
    def complete(self) -> bool:
        return self._head is not None and self._padding == 0 and len(self.cells) == self._head[0]

    @property
    def accepted_bytes(self) -> int:
        """What the reader says it consumed; 0 where the bytes were no KV of this shape, or not all of it."""
        return self.consumed if self.complete and not self._refused else 0

    def receive(self, data: bytes) -> None:
        if self._refused:
            return
        self._pending += data
        while not self._refused and self._step():
            pass

    def _step(self) -> bool:
        if self._head is None:
            return self._read_head()
        if self._padding is None:
            return self._read_recurrent()
        if self._padding:
            skipped = min(self._padding, len(self._pending))
            self._take(skipped)
            self._padding -= skipped
            return skipped > 0
        if len(self.cells) < self._head[0]:
            return self._read_cells(self._head[0] - len(self.cells))
        self._keep_remainder()
        return False

    def _read_head(self) -> bool:
        if len(self._pending) < _HEAD.size:
            return False
        magic, _, n_cells, cell_bytes, recurrent_bytes = _HEAD.unpack(self._take(_HEAD.size))
        shape = self._shape
        wrong_cells = cell_bytes != shape.cell_bytes or not 0 < n_cells <= shape.max_cells
        if magic != MAGIC or wrong_cells or recurrent_bytes != shape.recurrent_bytes:
            self._refused = True
            return False
        self._head = n_cells, recurrent_bytes
        return True

    def _read_recurrent(self) -> bool:
        size = self._shape.recurrent_bytes
        if len(self._pending) < size + _PADDING.size:
            return False
        self.recurrent = self._take(size)
        (self._padding,) = _PADDING.unpack(self._take(_PADDING.size))
        return True

    def _read_cells(self, missing: int) -> bool:
        size = self._shape.cell_bytes
        whole = min(missing, len(self._pending) // size)
        taken = self._take(whole * size)
        self.cells += [taken[at : at + size] for at in range(0, len(taken), size)]
        return whole > 0

    def _keep_remainder(self) -> None:
        behind = bytes(self._pending)
        self._pending.clear()
        self.remainder_bytes += len(behind)
        self.remainder += behind[: self._max_remainder - len(self.remainder)]

    def _take(self, size: int) -> bytes:
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        self.consumed += len(taken)
        return taken
