"""The head of a GGUF file, read without trusting it: what the model is, and whether the file is whole.

Reads the key-values and the list of tensors, never the weights. Every count and length is checked against the
bytes that are there before it is believed, so junk is refused in one line and never costs memory.
Layout: magic, version, counts, key-values (name, type, value), tensors (name, shape, type, offset), padding, data.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from harness.models.errors import ModelDamaged

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_COUNT = 1 << 24
MAX_TEXT = 1 << 24
MAX_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9

# Type number -> (name, weights in a block, bytes of a block).
_TYPES = {
    0: ("f32", 1, 4),
    1: ("f16", 1, 2),
    2: ("q4_0", 32, 18),
    3: ("q4_1", 32, 20),
    6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24),
    8: ("q8_0", 32, 34),
    10: ("q2_k", 256, 84),
    11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144),
    13: ("q5_k", 256, 176),
    14: ("q6_k", 256, 210),
    30: ("bf16", 1, 2),
}


@dataclass(frozen=True, slots=True)
class Head:
    """What a GGUF file says of itself. `types` are the weight types that occur, `unknown` when not in our list."""

    architecture: str
    name: str
    types: frozenset[str]
    n_tensors: int
    block_count: int | None

    @property
    def quantised(self) -> bool:
        return not self.types <= {"f32", "f16", "bf16"}


class _Reader:
    """Takes values off a file, and refuses to go past its end."""

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self.file, self.path, self.size = file, path, size

    def bytes(self, n: int) -> bytes:
        data = self.file.read(n)
        if len(data) != n:
            raise ModelDamaged(f"{self.path}: the GGUF file is cut short ({self.size} bytes are there)")
        return data

    def value(self, code: str) -> Any:
        return struct.unpack("<" + code, self.bytes(struct.calcsize("<" + code)))[0]

    def count(self, what: str, limit: int = MAX_COUNT) -> int:
        n: int = self.value("Q")
        if n > limit:
            raise ModelDamaged(f"{self.path}: damaged GGUF file ({n} {what})")
        return n

    def text(self) -> str:
        return self.bytes(self.count("bytes of text", MAX_TEXT)).decode("utf-8", "replace")

    def typed(self, kind: int) -> Any:
        """A scalar or a text as it is; an array is stepped over, since none is wanted here."""
        if kind in _SCALARS:
            return self.value(_SCALARS[kind])
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY:
            raise ModelDamaged(f"{self.path}: damaged GGUF file (value type {kind})")
        element, n = self.value("I"), self.count("array elements")
        if element in _SCALARS:
            self.skip(n * struct.calcsize("<" + _SCALARS[element]))
        elif element == _TEXT:
            for _ in range(n):
                self.skip(self.count("bytes of text", MAX_TEXT))
        else:
            raise ModelDamaged(f"{self.path}: damaged GGUF file (array of type {element})")
        return None

    def skip(self, n: int) -> None:
        if self.file.seek(n, 1) > self.size:
            raise ModelDamaged(f"{self.path}: the GGUF file is cut short ({self.size} bytes are there)")


def read_head(path: Path) -> Head:
    """Read the head and check that the file is as long as its tensors need. ModelDamaged says what is wrong."""
    try:
        with path.open("rb") as file:
            return _read(_Reader(file, path, path.stat().st_size))
    except OSError as err:
        raise ModelDamaged(f"{path}: {err.strerror}") from err


def _read(reader: _Reader) -> Head:
    if reader.size < 4 or reader.bytes(4) != MAGIC:
        raise ModelDamaged(f"{reader.path}: not a GGUF file")
    if (version := reader.value("I")) not in VERSIONS:
        raise ModelDamaged(f"{reader.path}: GGUF version {version} is not one of {VERSIONS}")
    n_tensors, n_values = reader.count("tensors"), reader.count("key-values")
    values = {reader.text(): reader.typed(reader.value("I")) for _ in range(n_values)}
    types, end = _tensors(reader, n_tensors)
    alignment = values.get("general.alignment") or DEFAULT_ALIGNMENT
    needed = -(-reader.file.tell() // alignment) * alignment + end
    if reader.size < needed:
        raise ModelDamaged(
            f"{reader.path}: the GGUF file is cut short: its tensors need {needed} bytes, {reader.size} are there"
        )
    architecture = values.get("general.architecture")
    if not isinstance(architecture, str):
        raise ModelDamaged(f"{reader.path}: a GGUF file that names no architecture")
    name, blocks = values.get("general.name"), values.get(f"{architecture}.block_count")
    return Head(architecture, name if isinstance(name, str) else "", types, n_tensors, blocks)


def _tensors(reader: _Reader, n: int) -> tuple[frozenset[str], int]:
    """The weight types, and where the last tensor of a known type ends, counted from the start of the data."""
    types, end = set(), 0
    for _ in range(n):
        name = reader.text()
        n_dimensions = reader.value("I")
        if n_dimensions > MAX_DIMENSIONS:
            raise ModelDamaged(f"{reader.path}: damaged GGUF file (tensor {name} of {n_dimensions} dimensions)")
        shape = [reader.value("Q") for _ in range(n_dimensions)]
        kind, offset = reader.value("I"), reader.value("Q")
        type_name, per_block, block_bytes = _TYPES.get(kind, ("unknown", 1, 0))
        types.add(type_name)
        end = max(end, offset + math.prod(shape) // per_block * block_bytes)
    return frozenset(types), end
