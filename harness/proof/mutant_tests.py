"""Mutants of the harness itself: its own tests have to fail with them, and with nothing else.

Such a mutant is a pytest plugin that patches the harness as it is loaded. Tests that fail without it as well prove
nothing, so they are run both ways.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.errors import DeadlineMissed
from harness.proof.mutants import Mutant

_DEADLINE_S = 300.0
_PASSED, _SOME_FAILED = 0, 1
_FAILED_TESTS = re.compile(r"^\d+ failed", re.MULTILINE)


def uncaught(mutants: Sequence[Mutant], folder: Path, workers: int) -> tuple[str, ...]:
    """The mutants that no test of theirs sees, by name. pytest's output is kept in `folder`."""
    with ThreadPoolExecutor(workers) as pool:
        together = pool.submit(_pass_without, mutants, folder) if len(mutants) > 1 else None
        caught = dict(zip(mutants, pool.map(lambda each: _fails_with(each, folder), mutants), strict=True))
        if together is not None and together.result():
            healthy = dict.fromkeys(mutants, True)
        else:
            alone = pool.map(lambda each: _pass_without([each], folder), mutants)
            healthy = dict(zip(mutants, alone, strict=True))
    return tuple(mutant.name for mutant in mutants if not (healthy[mutant] and caught[mutant]))


def is_caught(mutant: Mutant, folder: Path) -> bool:
    """Whether a test fails with the mutant, and none without. No test at all catches nothing."""
    return not uncaught([mutant], folder, workers=1)


def _fails_with(mutant: Mutant, folder: Path) -> bool:
    root, module = mutant.module
    log = folder / f"{mutant.name}.log"
    status = _pytest(root, ("-x", "-p", module, *mutant.tests), log)
    # A mutant that cannot be loaded ends pytest with the same status, before any test.
    return status == _SOME_FAILED and _FAILED_TESTS.search(log.read_text("utf-8", "replace")) is not None


def _pass_without(mutants: Sequence[Mutant], folder: Path) -> bool:
    """Whether all tests of these mutants pass as the harness is. Of one folder, as mutants of one register are."""
    root, _ = mutants[0].module
    tests = dict.fromkeys(test for mutant in mutants for test in mutant.tests)
    name = mutants[0].name if len(mutants) == 1 else "harness"
    return _pytest(root, tests, folder / f"{name}-without.log", _DEADLINE_S * len(mutants)) == _PASSED


def _pytest(root: Path, words: Iterable[str], log: Path, deadline_s: float = _DEADLINE_S) -> int:
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words)
    with log.open("wb") as output:
        try:
            return subprocess.run(
                command,
                cwd=root,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=deadline_s,
            ).returncode
        except subprocess.TimeoutExpired:
            raise DeadlineMissed(f"the harness's own tests ({log})", deadline_s) from None
