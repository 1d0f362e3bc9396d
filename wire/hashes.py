"""xxh3-64 as the Hydra protocol writes it: a u64 in the DECODE frame, `xxh3:` and hex digits in JSON."""

from __future__ import annotations

import string

import xxhash

from wire.errors import RemoteWireError

PREFIX = "xxh3:"


def xxh3_64(data: bytes) -> int:
    return xxhash.xxh3_64_intdigest(data)


class RunningHash:
    """The hash of bytes that pass by in chunks and are not kept."""

    def __init__(self) -> None:
        self._state = xxhash.xxh3_64()

    def update(self, chunk: bytes) -> None:
        self._state.update(chunk)

    @property
    def value(self) -> int:
        return self._state.intdigest()


def encode_hash(value: int) -> str:
    """`xxh3:` and 16 hex digits."""
    return f"{PREFIX}{value:016x}"


def maybe_hash(text: str) -> int | None:
    """The u64 of `xxh3:` + 1 to 16 hex digits; None for the empty text, which means unchecked."""
    if not text:
        return None
    digits = text.removeprefix(PREFIX)
    if digits == text or not 0 < len(digits) <= 16 or not set(digits) <= set(string.hexdigits):
        raise RemoteWireError(f"a hash is written {PREFIX}<hex digits>, not {text[:40]!r}")
    return int(digits, 16)
