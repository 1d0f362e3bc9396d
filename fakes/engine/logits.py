"""The logits tail of a PREFILL blob: one f32 for each token of the vocabulary, the greedy one the largest."""

from __future__ import annotations

import struct


def logits_bytes(n_vocab: int) -> int:
    return 4 * n_vocab


def encode_logits(greedy: int, n_vocab: int) -> bytes:
    tail = bytearray(logits_bytes(n_vocab))
    struct.pack_into("<f", tail, 4 * greedy, 1.0)
    return bytes(tail)


def greedy_of(tail: bytes) -> int:
    """The token of the largest value, the lowest id among equals."""
    values = struct.unpack(f"<{len(tail) // 4}f", tail)
    return values.index(max(values))
