"""What can go wrong with a model, as one clear line each.

ModelError             something about a model
├── UnknownModel       no such name; names near ones (a UsageError)
├── ModelMissing       not on this machine; `command` would provide it (an Unavailable)
├── ModelDamaged       the file is there and is not what it should be
└── CacheError         the cache folder cannot be written, is full, or stays locked
"""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import HarnessError, Unavailable, UsageError
from harness.near import did_you_mean


class ModelError(HarnessError):
    """Something is wrong with a model; the text is one line."""


class UnknownModel(ModelError, UsageError):
    """No model has this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        hint = did_you_mean(name, names) or f"; known: {', '.join(names)}"
        super().__init__(f"no model is called {name!r}{hint}")


class ModelMissing(ModelError, Unavailable):
    """The model is known and not here. `reason` says why, `command` would provide it."""


class ModelDamaged(ModelError):
    """A file that is not the model it should be: wrong checksum, cut short, or no GGUF at all."""


class CacheError(ModelError):
    """The cache folder does not let itself be used."""
