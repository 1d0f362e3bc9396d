"""The known differences: which clause a build does not hold, and why. The list may only shrink.

An entry that is not needed any more is an error like a difference that is not listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from harness.errors import UsageError

LIST = Path(__file__).with_name("differences.yaml")


@dataclass(frozen=True, slots=True)
class Difference:
    """`build` is a build's name, or what it begins with."""

    build: str
    clause: str
    reason: str


def read(path: Path = LIST) -> tuple[Difference, ...]:
    """UsageError: an entry without build, clause or reason, or one that is there twice."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    found: list[Difference] = []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or sorted(entry) != ["build", "clause", "reason"]:
            raise UsageError(f"{path}: entry {number}: expected build, clause and reason")
        found.append(Difference(**{name: " ".join(str(text).split()) for name, text in entry.items()}))
    twice = {(each.build, each.clause) for each in found if found.count(each) > 1}
    if twice:
        raise UsageError(f"{path}: listed twice: {sorted(twice)}")
    return tuple(found)


def known(differences: Iterable[Difference], build: str) -> dict[str, Difference]:
    """What is listed for that build, by clause."""
    return {each.clause: each for each in differences if build.startswith(each.build)}
