"""The sequence state of a plain attention model, exactly as llama.cpp lays it down in a save file.

Little endian. `n_stream` (u32), then for every stream its cell count (u32) and, where that is not 0:

    per cell            position (i32), number of sequence ids (u32, here 1), the id (i32)
    once                v_trans, n_layer, n_rot_k, n_rot_v (u32 each)
    per layer, K        type (i32), row size (u64), the rows
    per layer, V        the same; with v_trans instead type (i32), element size (u32), number of elements
                        in a row (u32), and the elements of one index for all cells together

A slot's cells lie in one stream. Nothing names the model: shapes and types are all there is to compare.
Knows nothing of the tokens in front of it (`wire.statefile`) and nothing of files.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from wire.errors import LocalWireError, RemoteWireError

MAX_STREAMS = 256
MAX_LAYERS = 1024

_U32 = struct.Struct("<I")
_CELL = struct.Struct("<iIi")
_SHAPE = struct.Struct("<IIII")
_LAYER = struct.Struct("<iQ")
_TRANSPOSED = struct.Struct("<iII")


@dataclass(frozen=True, slots=True)
class Layer:
    """K or V of one layer: `rows` holds `row_bytes` for every cell, in the order of the cells."""

    type: int
    row_bytes: int
    rows: bytes


@dataclass(frozen=True, slots=True)
class TransposedLayer:
    """V of one layer as a cache without flash attention keeps it: element by element, all cells of each."""

    type: int
    element_bytes: int
    n_elements: int
    columns: bytes


@dataclass(frozen=True, slots=True)
class AttentionState:
    """One slot's state. `positions` has one entry per cell; `stream` is where they lie, 0 when there are none.

    `values` are `TransposedLayer`s when `v_trans` and `Layer`s otherwise.
    """

    n_stream: int
    stream: int = 0
    seq_id: int = 0
    positions: tuple[int, ...] = ()
    v_trans: bool = False
    n_rot_k: int = 0
    n_rot_v: int = 0
    keys: tuple[Layer, ...] = ()
    values: tuple[Layer | TransposedLayer, ...] = ()


class _Reader:
    """Takes lengths only as far as there are bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int, what: str) -> bytes:
        left = len(self._data) - self._at
        if size > left:
            raise RemoteWireError(f"the state is cut in its {what}: {size} bytes wanted, {left} left")
        self._at += size
        return self._data[self._at - size : self._at]

    def unpack(self, form: struct.Struct, what: str) -> tuple[int, ...]:
        return form.unpack(self.take(form.size, what))

    def end(self) -> None:
        if self._at != len(self._data):
            raise RemoteWireError(f"{len(self._data) - self._at} bytes after the end of the state")


def decode_attention(state: bytes) -> AttentionState:
    """RemoteWireError: cut short, bytes left over, cells in two streams, or a cell of no or several sequences."""
    reader = _Reader(state)
    (n_stream,) = reader.unpack(_U32, "stream count")
    if not 1 <= n_stream <= MAX_STREAMS:
        raise RemoteWireError(f"{n_stream} streams, allowed are 1 to {MAX_STREAMS}")
    found = AttentionState(n_stream)
    for stream in range(n_stream):
        (count,) = reader.unpack(_U32, f"cell count of stream {stream}")
        if count == 0:
            continue
        if found.positions:
            raise RemoteWireError(f"cells in streams {found.stream} and {stream}: a slot has one")
        found = _stream(reader, n_stream, stream, count)
    reader.end()
    return found


def _stream(reader: _Reader, n_stream: int, stream: int, count: int) -> AttentionState:
    seq_id, positions = _cells(reader.take(_CELL.size * count, f"{count} cells"))
    v_trans, n_layer, n_rot_k, n_rot_v = reader.unpack(_SHAPE, "shape")
    if v_trans > 1:
        raise RemoteWireError(f"v_trans is {v_trans}, neither 0 nor 1")
    if n_layer > MAX_LAYERS:
        raise RemoteWireError(f"{n_layer} layers, more than {MAX_LAYERS}")
    keys = tuple(_layer(reader, count, f"K of layer {i}") for i in range(n_layer))
    one_value = _transposed if v_trans else _layer
    values = tuple(one_value(reader, count, f"V of layer {i}") for i in range(n_layer))
    return AttentionState(n_stream, stream, seq_id, positions, bool(v_trans), n_rot_k, n_rot_v, keys, values)


def _cells(raw: bytes) -> tuple[int, tuple[int, ...]]:
    cells = list(_CELL.iter_unpack(raw))
    seq_id = cells[0][2]
    for index, (position, n_ids, owner) in enumerate(cells):
        if n_ids != 1 or owner != seq_id:
            raise RemoteWireError(f"cell {index} has {n_ids} sequence ids, {owner} the first; a slot's has one")
        if position < 0:
            raise RemoteWireError(f"cell {index} at position {position}")
    return seq_id, tuple(cell[0] for cell in cells)


def _layer(reader: _Reader, count: int, what: str) -> Layer:
    kind, row_bytes = reader.unpack(_LAYER, what)
    return Layer(kind, row_bytes, reader.take(row_bytes * count, what))


def _transposed(reader: _Reader, count: int, what: str) -> TransposedLayer:
    kind, element_bytes, n_elements = reader.unpack(_TRANSPOSED, what)
    return TransposedLayer(kind, element_bytes, n_elements, reader.take(element_bytes * n_elements * count, what))


def encode_attention(state: AttentionState) -> bytes:
    """The state's bytes. LocalWireError: sizes that contradict each other."""
    if not 1 <= state.n_stream <= MAX_STREAMS or not 0 <= state.stream < state.n_stream:
        raise LocalWireError(f"stream {state.stream} of {state.n_stream}")
    parts = [_U32.pack(state.n_stream)]
    for stream in range(state.n_stream):
        here = stream == state.stream and state.positions
        parts.append(_U32.pack(len(state.positions) if here else 0))
        if here:
            parts += _stream_parts(state)
    return b"".join(parts)


def _stream_parts(state: AttentionState) -> list[bytes]:
    if len(state.keys) != len(state.values) or len(state.keys) > MAX_LAYERS:
        raise LocalWireError(f"{len(state.keys)} layers of K and {len(state.values)} of V")
    count = len(state.positions)
    if any(not 0 <= position <= 0x7FFFFFFF for position in state.positions):
        raise LocalWireError("a cell's position that is negative or wider than 31 bits")
    parts = [b"".join(_CELL.pack(position, 1, state.seq_id) for position in state.positions)]
    parts.append(_SHAPE.pack(state.v_trans, len(state.keys), state.n_rot_k, state.n_rot_v))
    for layer in (*state.keys, *state.values):
        parts += _layer_parts(layer, count)
    return parts


def _layer_parts(layer: Layer | TransposedLayer, count: int) -> tuple[bytes, bytes]:
    if isinstance(layer, Layer):
        head, data, size = _LAYER.pack(layer.type, layer.row_bytes), layer.rows, layer.row_bytes * count
    else:
        head = _TRANSPOSED.pack(layer.type, layer.element_bytes, layer.n_elements)
        data, size = layer.columns, layer.element_bytes * layer.n_elements * count
    if len(data) != size:
        raise LocalWireError(f"{len(data)} bytes of rows for {count} cells, {size} expected")
    return head, data
