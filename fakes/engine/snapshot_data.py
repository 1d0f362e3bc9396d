"""The bytes inside a checkpoint of the toy engine: the recurrent state alone, or a whole KV stream.

Which of the two they are is said by a flag of the blob and by nothing in the bytes, so reading one as the other is
refused by its size or its magic; a real engine would read wild memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from fakes.engine.checkpoints import Snapshot
from fakes.engine.kv_stream import KvReader, KvShape, kv_stream
from fakes.engine.memory import Memory

_ABSORBED = struct.Struct("<I")


class SnapshotRefused(Exception):
    """The bytes are not what the flag says they are."""


def take_snapshot(memory: Memory, *, recurrent_only: bool) -> Snapshot:
    """The memory as it is now; at least one token was absorbed."""
    n_tokens = len(memory.cells)
    pos_min = n_tokens - 1 if memory.hybrid else 0
    data = _recurrent(memory) if recurrent_only else _whole(memory.cells, memory)
    return Snapshot(pos_min, n_tokens - 1, n_tokens, recurrent_only, data)


def load_snapshot(memory: Memory, snapshot: Snapshot, shape: KvShape) -> None:
    """Puts the snapshot's state into the memory, cells too unless it is recurrent-only. SnapshotRefused."""
    if snapshot.recurrent_only:
        memory.load_recurrent(*_recurrent_of(snapshot.data, shape))
    else:
        cells, recurrent = _whole_of(snapshot.data, shape)
        memory.load(cells, recurrent, len(cells))


def check_snapshot(snapshot: Snapshot, shape: KvShape) -> None:
    """SnapshotRefused, before anything is touched. A model without recurrent state never reads one."""
    if shape.recurrent_bytes:
        (_recurrent_of if snapshot.recurrent_only else _whole_of)(snapshot.data, shape)


def invented_snapshot(recurrent: bytes, n_tokens: int) -> Snapshot:
    """For a blob that cannot carry one: the live recurrent state, which stands a token behind where it is needed."""
    return Snapshot(0, n_tokens - 1, n_tokens, True, _ABSORBED.pack(n_tokens) + recurrent)


def _recurrent(memory: Memory) -> bytes:
    return _ABSORBED.pack(memory.absorbed) + memory.recurrent


def _whole(cells: Sequence[bytes], memory: Memory) -> bytes:
    return b"".join(kv_stream(cells, memory.recurrent, 0))


def _recurrent_of(data: bytes, shape: KvShape) -> tuple[bytes, int]:
    if len(data) != _ABSORBED.size + shape.recurrent_bytes:
        raise SnapshotRefused(f"a recurrent-only checkpoint of {len(data)} bytes")
    (absorbed,) = _ABSORBED.unpack_from(data)
    return data[_ABSORBED.size :], absorbed


def _whole_of(data: bytes, shape: KvShape) -> tuple[list[bytes], bytes]:
    reader = KvReader(shape, max_remainder=0)
    reader.receive(data)
    if not reader.accepted_bytes or reader.remainder_bytes:
        raise SnapshotRefused(f"a full checkpoint of {len(data)} bytes is no KV stream")
    return reader.cells, reader.recurrent
