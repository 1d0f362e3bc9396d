"""The decoder's KV cache: rows in memory files, laid out so that they can be lent as they are.

Tensors `cache_k_l<L>` and `cache_v_l<L>`, position-major, each at a 4 KiB boundary; as many as fit lie in one
memory file. A file has its exact size and is sealed against resizing. Rows are read back from there whenever they
are needed, so what somebody else wrote is what counts.

Knows nothing of slots and tokens: a cell is a number here.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence

from wire.region import ALIGNMENT, MAX_REGION_BYTES, Region, Tensor, layout_hash

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class RowStore:
    """Rows of `n_cells` cells in `2 * layers` tensors."""

    def __init__(self, layers: int, row_bytes: int, n_cells: int, k_type: str = "f16", v_type: str = "f16") -> None:
        self.row_bytes = row_bytes
        self.n_cells = n_cells
        self.tensors = _lay_out(layers, row_bytes, n_cells, k_type, v_type)
        self.regions = _regions(self.tensors)
        self.fds = [_memory_file(region.size) for region in self.regions]
        self._maps = [mmap.mmap(fd, region.size) for fd, region in zip(self.fds, self.regions, strict=True)]
        self._places = [(memoryview(self._maps[t.region]), t.offset) for t in self.tensors]

    @property
    def inodes(self) -> list[int]:
        """The memory files' inode numbers, which a receiver of the descriptors sees too."""
        return [os.fstat(fd).st_ino for fd in self.fds]

    def write(self, first: int, rows: Sequence[bytes]) -> None:
        """Rows from cell `first` on, tensor by tensor."""
        size = self.row_bytes
        for (memory, offset), part in zip(self._places, rows, strict=True):
            start = offset + first * size
            memory[start : start + len(part)] = part

    def read(self, first: int, count: int) -> list[memoryview]:
        """The rows of `count` cells, tensor by tensor, as they are now."""
        start, end = first * self.row_bytes, (first + count) * self.row_bytes
        return [memory[offset + start : offset + end] for memory, offset in self._places]

    def cell(self, index: int) -> bytes:
        """All rows of one cell."""
        return b"".join(self.read(index, 1))

    def close(self) -> None:
        for memory, _ in self._places:
            memory.release()
        for mapped, fd in zip(self._maps, self.fds, strict=True):
            mapped.close()
            os.close(fd)


def _lay_out(layers: int, row_bytes: int, n_cells: int, k_type: str, v_type: str) -> tuple[Tensor, ...]:
    size = row_bytes * n_cells
    padded = -(-size // ALIGNMENT) * ALIGNMENT
    if padded > MAX_REGION_BYTES:
        raise ValueError(f"a tensor of {size} bytes does not fit a region of {MAX_REGION_BYTES}")
    per_region = MAX_REGION_BYTES // padded
    names = [
        (f"cache_{part}_l{layer}", kind) for layer in range(layers) for part, kind in (("k", k_type), ("v", v_type))
    ]
    return tuple(
        Tensor(name, i // per_region, i % per_region * padded, row_bytes, kind, n_cells)
        for i, (name, kind) in enumerate(names)
    )


def _regions(tensors: Sequence[Tensor]) -> tuple[Region, ...]:
    found = []
    for index in range(tensors[-1].region + 1):
        inside = [tensor for tensor in tensors if tensor.region == index]
        end = inside[-1].offset + inside[-1].row_bytes * inside[-1].n_cells
        found.append(Region(-(-end // ALIGNMENT) * ALIGNMENT, 0, layout_hash(inside)))
    return tuple(found)


def _memory_file(size: int) -> int:
    fd = os.memfd_create("fake-kv", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    return fd
