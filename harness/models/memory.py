"""How models differ, as closed lists."""

from __future__ import annotations

from enum import StrEnum


class Memory(StrEnum):
    """How an architecture remembers, which decides what a restored slot can be used for."""

    DENSE = "dense"
    SLIDING = "sliding window"
    RECURRENT = "recurrent"
    HYBRID = "hybrid"


class Origin(StrEnum):
    """Where a model's file comes from."""

    FETCHED = "fetched"
    MADE = "made"
