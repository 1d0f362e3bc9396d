"""Bytes made wrong on purpose: a few small accidents each, all drawn from the generator that is handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

_NUMBERS = tuple(
    number.to_bytes(size, "little")
    for size in (1, 2, 4, 8)
    for number in (0, 1, 127, 128, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 2 ** (8 * size) - 8)
    if number < 2 ** (8 * size)
)


def mutated(data: bytes, rng: Random) -> bytes:
    """One to four accidents; now and then none, so that good bytes are tried among the bad."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 4))):
        data = rng.choice(_ACCIDENTS)(data, rng)
    return data


def chunked(data: bytes, rng: Random) -> Iterator[bytes]:
    """The same bytes as a network might cut them."""
    at = 0
    while at < len(data):
        size = rng.choice((1, 2, 7, 64, 1024, len(data)))
        yield data[at : at + size]
        at += size


def _flip(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    if changed:
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _number(data: bytes, rng: Random) -> bytes:
    number = rng.choice(_NUMBERS)
    at = rng.randrange(len(data) + 1)
    return data[:at] + number + data[at + len(number) :]


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:]


def _remove(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.randrange(1, 9) :]


def _repeat(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at : at + rng.randrange(1, 33)] + data[at:]


_ACCIDENTS: tuple[Callable[[bytes, Random], bytes], ...] = (_flip, _number, _cut, _insert, _remove, _repeat)
