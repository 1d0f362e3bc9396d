"""Mutants of the harness itself: its own tests have to fail with them, and with nothing else.

Such a mutant is a pytest plugin that patches the harness as it is loaded. Tests that fail without it as well prove
nothing, so they are run both ways.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.errors import DeadlineMissed
from harness.proof.mutants import Mutant

_DEADLINE_S = 300.0
_PASSED, _SOME_FAILED = 0, 1


def uncaught(mutants: Sequence[Mutant], folder: Path, workers: int) -> tuple[str, ...]:
    """The mutants that no test of theirs sees, by name. pytest's output is kept in `folder`."""
    with ThreadPoolExecutor(workers) as pool:
        healthy = dict(zip(mutants, pool.map(lambda each: _passes_without(each, folder), mutants), strict=True))
        caught = dict(zip(mutants, pool.map(lambda each: _fails_with(each, folder), mutants), strict=True))
    return tuple(mutant.name for mutant in mutants if not (healthy[mutant] and caught[mutant]))


def is_caught(mutant: Mutant, folder: Path) -> bool:
    """Whether a test fails with the mutant, and none without. No test at all catches nothing."""
    return not uncaught([mutant], folder, workers=1)


def _fails_with(mutant: Mutant, folder: Path) -> bool:
    _, module = mutant.module
    return _pytest(mutant, ("-x", "-p", module), folder / f"{mutant.name}.log") == _SOME_FAILED


def _passes_without(mutant: Mutant, folder: Path) -> bool:
    return _pytest(mutant, (), folder / f"{mutant.name}-without.log") == _PASSED


def _pytest(mutant: Mutant, words: Iterable[str], log: Path) -> int:
    root, _ = mutant.module
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    command = (sys.executable, "-m", "pytest", "-q", *words, "-p", "no:cacheprovider", *mutant.tests)
    with log.open("wb") as output:
        try:
            return subprocess.run(
                command,
                cwd=root,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_DEADLINE_S,
            ).returncode
        except subprocess.TimeoutExpired:
            raise DeadlineMissed(f"the tests that should catch {mutant.name}", _DEADLINE_S) from None
