"""Models by name: where each comes from, and the one way to get its file.

`resolve` answers with a file that is here (a zoo model is made on the spot, which takes a moment and no network);
`provide` downloads it if it must. Both check what they hand out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.models import qwen3, smollm2, zoo
from harness.models.errors import UnknownModel
from harness.models.gguf_head import read_head
from harness.models.memory import Memory, Origin


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `find` answers with its checked file or raises ModelMissing; `provide` gets it first.

    `sha256` is pinned here; None where the file brings a checksum of its own.
    """

    name: str
    memory: Memory
    origin: Origin
    about: str
    find: Callable[[], Path]
    provide: Callable[[], Path]
    sha256: str | None = None


def _zoo(name: str) -> Model:
    blueprint = zoo.blueprint(name)
    return Model(
        name=name,
        memory=blueprint.memory,
        origin=Origin.MADE,
        about=f"synthetic {blueprint.architecture}, f32",
        find=partial(zoo.find, name),
        provide=partial(zoo.make, name),
        sha256=zoo.SHA256[name],
    )


MODELS = (
    Model(qwen3.NAME, Memory.DENSE, Origin.FETCHED, "Qwen3-0.6B, from a path or a hub", qwen3.find, qwen3.fetch),
    Model(
        smollm2.NAME,
        Memory.DENSE,
        Origin.FETCHED,
        "SmolLM2-135M-Instruct, Q4_1",
        smollm2.find,
        smollm2.fetch,
        smollm2.SHA256,
    ),
    *(_zoo(name) for name in zoo.ARCHITECTURES),
)


DEFAULT = "default"
"""The name of the real model that a gate uses where any will do: the larger one where a path names it."""


def model(name: str) -> Model:
    if name == DEFAULT:
        name = qwen3.NAME if os.environ.get(qwen3.VARIABLE) else smollm2.NAME
    for known in MODELS:
        if known.name == name:
            return known
    raise UnknownModel(name, (known.name for known in MODELS))


def is_known(name: str) -> bool:
    return name == DEFAULT or any(known.name == name for known in MODELS)


def resolve(name: str) -> Path:
    """The checked file of a model's name or of a path to a GGUF, without the network."""
    if _is_path(name):
        return _checked_path(name)
    known = model(name)
    return known.provide() if known.origin is Origin.MADE else known.find()


def provide(name: str) -> Path:
    """As `resolve`, and downloads what is missing."""
    return _checked_path(name) if _is_path(name) else model(name).provide()


def model_file(name: str, *, download: bool) -> Path:
    """The checked file of a name or path; `download` says whether a missing one may be fetched."""
    return provide(name) if download else resolve(name)


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(".gguf")


def _checked_path(name: str) -> Path:
    path = Path(name).expanduser()
    read_head(path)
    return path.absolute()
