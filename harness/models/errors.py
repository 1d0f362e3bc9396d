"""What can go wrong with a model, as one clear line each.

ModelError                 something about a model; its text is the line to show
├── UnknownModel           no such name; names near ones
├── ModelMissing           not on this machine; `command` would provide it
├── ModelDamaged           the file is there and is not what it should be
└── CacheError             the cache folder cannot be written, is full, or stays locked
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ModelError(Exception):
    """Something is wrong with a model; the text is one line."""


class UnknownModel(ModelError):
    """No model has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}?" if near else f"the names are {', '.join(names)}"
        super().__init__(f"no model is called {name!r}; {hint}")


class ModelMissing(ModelError):
    """The model is known and not here. `reason` says why, `command` would provide it."""

    def __init__(self, reason: str, command: str) -> None:
        super().__init__(f"{reason}; to have it: {command}")
        self.reason = reason
        self.command = command


class ModelDamaged(ModelError):
    """A file that is not the model it should be: wrong checksum, cut short, or no GGUF at all."""


class CacheError(ModelError):
    """The cache folder does not let itself be used."""
