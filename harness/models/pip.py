"""The one way to a package registry: pip, run as a process, its trouble told in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

DEADLINE_S = 1800.0


def run(arguments: Sequence[str], *, scratch: Path, python: str = sys.executable) -> str | None:
    """Run pip; None if all went well, else one line that says what did not.

    Its temporary files go to `scratch`, so that what a killed download leaves is swept with the rest.
    """
    command = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S
        )
    except subprocess.TimeoutExpired:
        return f"pip was still busy after {DEADLINE_S:.0f} s"
    return None if done.returncode == 0 else _reason(done.stderr, done.returncode)


def _reason(stderr: str, status: int) -> str:
    """pip's last line that begins with ERROR says what failed; without one, its last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")]
    said = (errors or lines or [f"exit status {status}"])[-1]
    return f"pip: {said[:300]}"
