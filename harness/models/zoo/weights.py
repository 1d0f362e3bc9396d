"""Numbers for a tensor, the same on every machine and for ever.

Drawn from the generator's raw bits (its distributions may change between releases, its bits do not), each tensor
from a seed made of the model's seed and the tensor's name, so that adding a tensor moves no other.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.models.zoo.blueprint import Around, Gain, Head, Tensor

Floats = npt.NDArray[np.float32]


def draw(tensor: Tensor, seed: int, unsayable: tuple[int, ...]) -> Floats:
    bits = _bits(f"{seed}:{tensor.name}", math.prod(tensor.shape))
    match tensor.fill:
        case Around(middle, reach):
            numbers = middle + reach * _even(bits)
        case Gain(gain) | Head(gain):
            numbers = gain / math.sqrt(tensor.shape[-1]) * _normal(bits)
    shaped = numbers.reshape(tensor.shape).astype(np.float32)
    if isinstance(tensor.fill, Head):
        shaped[list(unsayable)] = 0.0
    return shaped


def _bits(seed: str, n: int) -> npt.NDArray[np.uint64]:
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest())
    bits: Any = np.random.PCG64(number).random_raw(n)
    return np.asarray(bits, dtype=np.uint64)


def _even(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Evenly over -1 to 1."""
    return (bits >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1.0


def _normal(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Close enough to normal, with spread one: the sum of four even numbers, one from each 16 bits."""
    total = np.zeros(bits.shape, dtype=np.float64)
    for shift in (0, 16, 32, 48):
        total += ((bits >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64)
    return (total - 2.0 * 0xFFFF) / math.sqrt(4.0 * (2.0**32 - 1.0) / 12.0)
