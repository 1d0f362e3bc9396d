"""What the fingerprints say of builds that are compared, whatever they answered: two that are one, one made of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from harness.proof.source_tree import work_tree_above
from harness.result import BuildInfo

_INSTALLED = ("site-packages", "dist-packages")


def the_same(builds: Sequence[BuildInfo]) -> Iterator[str]:
    """A line for every two that run the same content in the same way: there is nothing to compare."""
    for one, other in combinations(builds, 2):
        digest = one.fingerprint.get("digest")
        if digest and digest == other.fingerprint.get("digest"):
            yield f"{one.name} and {other.name} are one and the same build ({digest[:12]})"


def stitched(builds: Sequence[BuildInfo]) -> Iterator[str]:
    """A line for every build of a ref that runs code of another work tree than the one it was built in."""
    for build in builds:
        if (origin := build.fingerprint.get("built_from")) is None:
            continue
        own = Path(origin["source"])
        for tree, files in _others(build.fingerprint, own).items():
            shown = ", ".join(sorted(str(file.relative_to(tree)) for file in files)[:3])
            yield f"{build.name} was built from {origin['ref']}, but runs what lies in {tree}: {shown}"


def _others(fingerprint: Mapping[str, Any], own: Path) -> dict[Path, list[Path]]:
    found: dict[Path, list[Path]] = {}
    for file in _what_runs(fingerprint):
        tree = work_tree_above(file)
        if tree not in (None, own) and not file.is_relative_to(own) and not set(_INSTALLED) & set(file.parts):
            found.setdefault(tree, []).append(file)
    return found


def _what_runs(fingerprint: Mapping[str, Any]) -> Iterator[Path]:
    """Of a Python program its modules alone: the interpreter may lie in a tree of its own."""
    if fingerprint.get("python"):
        yield from map(Path, fingerprint.get("modules", ()))
        return
    if fingerprint.get("path"):
        yield Path(fingerprint["path"])
    yield from (Path(fact["path"]) for fact in fingerprint.get("libraries", ()))
