"""Where a provider puts rows: into lent regions, or into a state file.

Knows nothing of requests or faults: it is given the rows, tensor by tensor.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence

from wire.errors import LocalWireError
from wire.provider import SharedTarget
from wire.region import row_span


class TargetError(Exception):
    """The target is not what the request says."""


def check_target(target: SharedTarget, n_tokens: int, row_bytes: int, n_tensors: int) -> None:
    """TargetError where descriptors are too small, or the layout is not the model's."""
    for fd, region in zip(target.fds, target.regions, strict=True):
        try:
            size = os.fstat(fd).st_size
        except OSError as error:
            raise TargetError(f"descriptor {fd}: {error.strerror}") from None
        if size < region.offset + region.size:
            raise TargetError(f"descriptor {fd} has {size} bytes, its region ends at {region.offset + region.size}")
    if len(target.tensors) != n_tensors or any(tensor.row_bytes != row_bytes for tensor in target.tensors):
        raise TargetError(f"{len(target.tensors)} tensors, the model has {n_tensors} with rows of {row_bytes} bytes")
    if n_tokens > target.cells.count:
        raise TargetError(f"{n_tokens} tokens for {target.cells.count} cells")


def write_rows(target: SharedTarget, rows: Sequence[bytes], at: int = 0) -> None:
    """Rows into the slot's cells from its `at`-th on."""
    maps = [
        mmap.mmap(fd, region.size, offset=region.offset) for fd, region in zip(target.fds, target.regions, strict=True)
    ]
    try:
        for tensor, part in zip(target.tensors, rows, strict=True):
            if part:
                start, _ = row_span(tensor, target.cells.first + at)
                maps[tensor.region][start : start + len(part)] = part
    except (IndexError, LocalWireError) as error:
        raise TargetError(f"rows outside their region: {error}") from None
    finally:
        for one in maps:
            one.close()


def write_file(path: str, data: bytes) -> None:
    """The state file, overwritten in place. OSError as it comes."""
    with open(path, "r+b" if os.path.exists(path) else "wb") as file:
        file.write(data)
        file.truncate()
