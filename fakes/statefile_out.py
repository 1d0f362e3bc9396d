"""Rows as a save file, in llama.cpp's layout: what both a decoder's save and a provider write."""

from __future__ import annotations

from collections.abc import Sequence

from fakes.cache_types import TYPE_IDS
from fakes.model import ToyModel
from wire.statefile import VERSION, AttentionState, Layer, StateFile, TokenForm, encode_attention, encode_statefile


def state_file(
    model: ToyModel,
    tokens: tuple[int, ...],
    rows: Sequence[bytes],
    n_stream: int,
    stream: int,
    types: tuple[str, str],
    version: int = VERSION,
) -> bytes:
    """A save file of these tokens and their rows, tensor by tensor as the model orders them."""
    row_bytes = model.spec.row_bytes
    state = AttentionState(
        n_stream=n_stream,
        stream=stream,
        seq_id=stream,
        positions=tuple(range(len(tokens))),
        keys=tuple(Layer(TYPE_IDS[types[0]], row_bytes, part) for part in rows[0::2]),
        values=tuple(Layer(TYPE_IDS[types[1]], row_bytes, part) for part in rows[1::2]),
    )
    return encode_statefile(StateFile(tokens, TokenForm.COUNTED, encode_attention(state), version))
