"""A slot's rows as the state of a save file, and a save file's as rows."""

from __future__ import annotations

from fakes.cache_types import TYPE_IDS
from fakes.machine import Machine
from fakes.slots import Slot
from fakes.statefile_out import state_file
from wire.errors import RemoteWireError
from wire.statefile import AttentionState, Layer, StateFile, decode_attention, decode_statefile


class BadFile(Exception):
    """A file that cannot be restored. `public` is what the client is told after `Unable to restore slot: `."""

    def __init__(self, why: str, public: str = "No available space in KV cache or invalid slot save file") -> None:
        super().__init__(why)
        self.public = public


def save(machine: Machine, slot: Slot) -> bytes:
    """The slot as a save file."""
    rows = [bytes(part) for part in machine.store.read(slot.first_cell, len(slot.tokens))]
    stream = 0 if machine.shape.unified else slot.id
    types = machine.options.cache_type_k, machine.options.cache_type_v
    return state_file(
        machine.model, tuple(slot.tokens), rows, machine.shape.n_stream, stream, types, machine.build.state_version
    )


def restore(machine: Machine, slot: Slot, data: bytes, *, keeps_rows: bool = False) -> tuple[int, ...]:
    """Write the file's rows into the slot's cells; its tokens. BadFile: the rows may have been written in part."""
    try:
        file = decode_statefile(data)
        wanted = machine.build.state_version
        if file.version != wanted:
            raise BadFile(f"version {file.version}, expected {wanted}")
        state = decode_attention(file.state)
    except RemoteWireError as error:
        raise BadFile(str(error)) from None
    _check(machine, slot, file, state)
    rows = [
        layer.rows for pair in zip(state.keys, state.values, strict=True) for layer in pair if isinstance(layer, Layer)
    ]
    if rows and not keeps_rows:
        machine.store.write(slot.first_cell, rows)
    return file.tokens


def _check(machine: Machine, slot: Slot, file: StateFile, state: AttentionState) -> None:
    if state.n_stream != machine.shape.n_stream:
        raise BadFile(f"n_stream mismatch ({state.n_stream} != {machine.shape.n_stream})")
    if len(state.positions) > slot.n_ctx or len(file.tokens) > slot.n_ctx:
        raise BadFile("too many cells", "Restored prompt does not fit in the slot context")
    if state.positions:
        _check_layers(machine, state)
    if any(token >= machine.spec.vocab for token in file.tokens):
        raise BadFile("a token outside the vocabulary", "Invalid tokens in slot save file")


def _check_layers(machine: Machine, state: AttentionState) -> None:
    if state.v_trans:
        raise BadFile("incompatible V transposition")
    if len(state.keys) != machine.spec.layers:
        raise BadFile(f"mismatched layer count ({len(state.keys)} instead of {machine.spec.layers})")
    wanted_k, wanted_v = TYPE_IDS[machine.options.cache_type_k], TYPE_IDS[machine.options.cache_type_v]
    for wanted, layers in ((wanted_k, state.keys), (wanted_v, state.values)):
        for index, layer in enumerate(layers):
            if not isinstance(layer, Layer) or layer.type != wanted or layer.row_bytes != machine.spec.row_bytes:
                raise BadFile(f"mismatched type or row size of layer {index}")
    if state.positions != tuple(range(len(state.positions))):
        raise BadFile("cells that are not the positions 0, 1, 2, ...")
