"""What a state file says of the cache that it was saved from: the kind of its rows, read without reading the rows.

The state of a plain attention model, and the attention part of a hybrid or sliding-window one, begin as
`wire.attention` has it; only the heads of its layers are looked at, so a file of any size costs a few small reads. A
recurrent model's state begins otherwise and tells nothing here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wire.attention import MAX_LAYERS, MAX_STREAMS
from wire.errors import RemoteWireError
from wire.statefile import HEAD_BYTES, Head, NewerForm, read_head, read_version

Read = Callable[[int, int], bytes]
"""`read(offset, size)`: that many bytes of the file, fewer at its end."""

TYPES = {
    0: "f32",
    1: "f16",
    2: "q4_0",
    3: "q4_1",
    6: "q5_0",
    7: "q5_1",
    8: "q8_0",
    20: "iq4_nl",
    30: "bf16",
}

_U32 = struct.Struct("<I")
_CELL = struct.Struct("<iIi")
_SHAPE = struct.Struct("<IIII")
_LAYER = struct.Struct("<iQ")
_TRANSPOSED = struct.Struct("<iII")


@dataclass(frozen=True, slots=True)
class Layout:
    """What has to be the same in two caches for one to read the other's file.

    `keys` and `values` have an entry for each layer: the rows' type and how many bytes one row has.
    """

    version: int
    n_stream: int
    v_trans: bool
    keys: tuple[tuple[str, int], ...]
    values: tuple[tuple[str, int], ...]

    def difference(self, other: Layout) -> str | None:
        """What tells the two apart, in words; None where nothing does."""
        for what, mine, theirs in (
            ("state version", self.version, other.version),
            ("streams", self.n_stream, other.n_stream),
            ("layers", len(self.keys), len(other.keys)),
        ):
            if mine != theirs:
                return f"{what} {mine}, not {theirs}"
        for what, rows, others in (("K", self.keys, other.keys), ("V", self.values, other.values)):
            for index, (row, another) in enumerate(zip(rows, others, strict=True)):
                if row != another:
                    return f"{what} rows of layer {index} are {_row(row)}, not {_row(another)}"
        return None if self.v_trans == other.v_trans else "V is transposed in one of them"


@dataclass(frozen=True, slots=True)
class StateKind:
    """What kind of file it is, as far as it tells: what has to be the same for a server to read another's."""

    version: int
    head: Head | None
    """None: a token payload of a newer form."""
    layout: Layout | None
    """None: a state that tells nothing of rows."""

    def misfit(self, own: StateKind) -> str | None:
        """Why a server that saves files of the kind `own` does not read one of this kind; None where nothing is known
        against it."""
        if self.version != own.version:
            return f"state version {self.version}, not {own.version}"
        if own.head is None:
            return None
        if self.head is None:
            return "a token payload of a newer form"
        if self.layout is None or own.layout is None:
            return _one_sided(self.layout, own.layout)
        return self.layout.difference(own.layout)


def _one_sided(layout: Layout | None, own: Layout | None) -> str | None:
    if layout is None and own is None:
        return None
    return "no rows of attention" if layout is None else "rows of attention, and the decoder's own state has none"


def read_kind(read: Read) -> StateKind:
    """From a whole file. RemoteWireError: it is no state file."""
    front = read(0, HEAD_BYTES)
    try:
        head = read_head(front)
    except NewerForm:
        return StateKind(read_version(front), None, None)
    return StateKind(head.version, head, read_layout(head, read))


def _row(row: tuple[str, int]) -> str:
    return f"{row[0]} of {row[1]} bytes"


def read_layout(head: Head, read: Read) -> Layout | None:
    """None: the state is of a kind that does not tell."""
    try:
        return _Heads(read, head.state_offset).layout(head)
    except RemoteWireError:
        return None


class _Heads:
    """Goes from head to head."""

    def __init__(self, read: Read, at: int) -> None:
        self._read, self._at = read, at

    def layout(self, head: Head) -> Layout:
        (n_stream,) = self._unpack(_U32)
        _within(1 <= n_stream <= MAX_STREAMS)
        counts = (self._unpack(_U32)[0] for _ in range(n_stream))
        count = next((n for n in counts if n), 0)
        _within(0 < count <= head.n_tokens)
        self._cells(count)
        v_trans, n_layer, _, _ = self._unpack(_SHAPE)
        _within(v_trans <= 1 and 1 <= n_layer <= MAX_LAYERS)
        keys = tuple(self._rows(n_layer, count))
        values = tuple(self._columns(n_layer, count) if v_trans else self._rows(n_layer, count))
        return Layout(head.version, n_stream, bool(v_trans), keys, values)

    def _cells(self, count: int) -> None:
        """Each is one token of one sequence: what tells an attention state from another."""
        data = self._read(self._at, _CELL.size * count)
        _within(len(data) == _CELL.size * count)
        _within(all(position >= 0 and n_ids == 1 for position, n_ids, _ in _CELL.iter_unpack(data)))
        self._at += len(data)

    def _rows(self, n_layer: int, count: int) -> Iterator[tuple[str, int]]:
        for _ in range(n_layer):
            kind, row_bytes = self._unpack(_LAYER)
            yield TYPES.get(kind, f"type {kind}"), row_bytes
            self._at += row_bytes * count

    def _columns(self, n_layer: int, count: int) -> Iterator[tuple[str, int]]:
        for _ in range(n_layer):
            kind, element_bytes, n_elements = self._unpack(_TRANSPOSED)
            yield TYPES.get(kind, f"type {kind}"), element_bytes * n_elements
            self._at += element_bytes * n_elements * count

    def _unpack(self, form: struct.Struct) -> tuple[int, ...]:
        data = self._read(self._at, form.size)
        _within(len(data) == form.size)
        self._at += form.size
        return form.unpack(data)


def _within(holds: bool) -> None:
    if not holds:
        raise RemoteWireError("no state of an attention model")
