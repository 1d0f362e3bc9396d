"""What a toy model is: its seed and its sizes, read from `-m`.

`toy`, `toy:seed=7,layers=4,...`, or the path of a real GGUF file, whose bytes then give the seed. A file stays
unread except for that: the fake never runs it.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, fields, replace
from enum import Enum
from pathlib import Path

from fakes.near import near
from fakes.tokenizer import MAX_VOCAB, MIN_VOCAB

GGUF_MAGIC = b"GGUF"
_SEED_BYTES = 1 << 16
# A recurrent model's state fits no attention model's cache: its toy has another number of layers.
_RECURRENT = re.compile(rb"general\.architecture.{12}(mamba|rwkv)", re.DOTALL)


class Kind(Enum):
    """What memory the toy model says it has. A hybrid one cannot be shared."""

    DENSE = "dense"
    HYBRID = "hybrid"


class SpecError(ValueError):
    """`-m` names no model: the message says why."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A toy model. `eos`: one answer token in so many ends the reply, 0 for never. `ctx`: what `-c 0` means.

    `bos`: whether a token stands in front of every text, 1 or 0.
    """

    seed: int = 1
    layers: int = 2
    row_bytes: int = 32
    vocab: int = 2048
    ctx: int = 4096
    eos: int = 0
    bos: int = 1
    kind: Kind = Kind.DENSE

    def __post_init__(self) -> None:
        for name, low, high in _BOUNDS:
            if not low <= getattr(self, name) <= high:
                raise SpecError(f"{name}={getattr(self, name)}, allowed are {low} to {high}")


_BOUNDS = (
    ("seed", 0, (1 << 63) - 1),
    ("layers", 1, 256),
    ("row_bytes", 16, 1 << 16),
    ("vocab", MIN_VOCAB, MAX_VOCAB),
    ("ctx", 256, 1 << 20),
    ("eos", 0, 1 << 20),
    ("bos", 0, 1),
)


def parse_spec(model: str) -> ModelSpec:
    """The spec that `-m` names. SpecError: an unknown key, a size out of bounds, no such file, no GGUF."""
    if model == "toy" or model.startswith("toy:"):
        return _parse_toy(model[4:])
    return _seeded_by_file(Path(model))


def _parse_toy(text: str) -> ModelSpec:
    values: dict[str, int | Kind] = {}
    names = [field.name for field in fields(ModelSpec)]
    for pair in filter(None, text.split(",")):
        name, _, value = pair.partition("=")
        if name not in names:
            raise SpecError(f"a toy model has no {name!r}{near(name, names)}")
        values[name] = _kind(value) if name == "kind" else _whole(name, value)
    return replace(ModelSpec(), **values)  # type: ignore[arg-type]


def _whole(name: str, value: str) -> int:
    if not value.isdecimal() or len(value) > 20:
        raise SpecError(f"{name}={value}: not a whole number")
    return int(value)


def _kind(value: str) -> Kind:
    try:
        return Kind(value)
    except ValueError:
        raise SpecError(f"kind={value}: known are {', '.join(kind.value for kind in Kind)}") from None


def _seeded_by_file(path: Path) -> ModelSpec:
    try:
        with path.open("rb") as file:
            head = file.read(_SEED_BYTES)
    except OSError as error:
        raise SpecError(f"failed to open GGUF file '{path}' ({error.strerror})") from None
    if not head.startswith(GGUF_MAGIC):
        raise SpecError(f"invalid magic characters: '{head[:4].decode('ascii', 'replace')}', expected 'GGUF'")
    spec = ModelSpec(seed=zlib.crc32(head))
    return replace(spec, layers=1) if _RECURRENT.search(head) else spec
