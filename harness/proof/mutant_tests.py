"""Mutants of the harness itself: its own tests have to fail with them.

Such a mutant is a pytest plugin that patches the harness as it is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.errors import DeadlineMissed
from harness.proof.mutants import Mutant

_DEADLINE_S = 300.0
_SOME_FAILED = 1


def is_caught(mutant: Mutant, folder: Path) -> bool:
    """Whether a test fails with the mutant. pytest's output is kept in `folder`; no test at all catches nothing."""
    root, module = mutant.module
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    command = (sys.executable, "-m", "pytest", "-q", "-x", "-p", module, "-p", "no:cacheprovider", *mutant.tests)
    with (folder / f"{mutant.name}.log").open("wb") as output:
        try:
            done = subprocess.run(
                command,
                cwd=root,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_DEADLINE_S,
            )
        except subprocess.TimeoutExpired:
            raise DeadlineMissed(f"the tests that should catch {mutant.name}", _DEADLINE_S) from None
    return done.returncode == _SOME_FAILED
