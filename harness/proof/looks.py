"""What fingerprints that are taken at one moment have in common: modules asked for and git trees read, each once.

A hundred mutants of one program differ in a file each; what they load beside it is the same.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.proof.python_program import PythonProgram
from harness.proof.source_tree import SourceTree, read_tree

_SCAN = Path(__file__).with_name("module_scan.py")
_SCAN_DEADLINE_S = 30.0
_EACH_MORE_S = 1.0

Scan = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Started:
    """A Python program, and in which folder and environment it is started."""

    python: PythonProgram
    cwd: Path
    environment: Mapping[str, str]

    @property
    def interpreter(self) -> tuple[object, ...]:
        """The same for programs that one process can answer for."""
        return self.python.interpreter, self.python.flags, self.cwd, frozenset(self.environment.items())

    @property
    def program(self) -> tuple[object, ...]:
        return *self.interpreter, frozenset(self.python.entry.items())


@dataclass(slots=True)
class Looks:
    """Good for one moment: made anew for each time that builds are looked at."""

    _scans: dict[tuple[object, ...], Scan | None] = field(default_factory=dict)
    _trees: dict[tuple[Path, tuple[str, ...]], SourceTree | None] = field(default_factory=dict)

    def scan_together(self, programs: Iterable[Started]) -> None:
        """Asks each interpreter once for all of its programs."""
        groups: dict[tuple[object, ...], list[Started]] = {}
        for each in programs:
            groups.setdefault(each.interpreter, []).append(each)
        for group in groups.values():
            self._scans |= zip((each.program for each in group), _scanned(group), strict=True)

    def modules(self, started: Started) -> Scan | None:
        """What the program loads; None where its interpreter does not say."""
        if started.program not in self._scans:
            self.scan_together([started])
        return self._scans[started.program]

    def tree(self, root: Path, scope: tuple[str, ...] = ()) -> SourceTree | None:
        if (root, scope) not in self._trees:
            self._trees[root, scope] = read_tree(root, scope)
        return self._trees[root, scope]


def _scanned(group: list[Started]) -> list[Scan | None]:
    first = group[0]
    try:
        done = subprocess.run(
            (first.python.interpreter, *first.python.flags, str(_SCAN)),
            input=json.dumps([dict(each.python.entry) for each in group]).encode(),
            capture_output=True,
            timeout=_SCAN_DEADLINE_S + _EACH_MORE_S * len(group),
            cwd=os.fspath(first.cwd),
            env=first.environment,
        )
        scans: list[Scan | None] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return [None] * len(group)
    return scans
