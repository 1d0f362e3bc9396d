"""Starts kvgate's own commands as a person would, and looks at what is left of them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
ROUTER = str(BIN / "kvgate-router")
AT_MOST_S = 120


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended: its status and what it wrote."""

    status: int
    out: str
    err: str


def kvgate(*words: str, folder: Path = ROOT, **env: str) -> Ended:
    """`kvgate WORDS` to its end."""
    command = [sys.executable, "-m", "harness.cli", *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=AT_MOST_S, env={**os.environ, **env}
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def python_router(folder: Path, before: str, name: str = "build.py") -> str:
    """A build under test: our router, with some Python run before it in the same process."""
    path = folder / name
    path.write_text(f"import os, sys\n{before}\nos.execv({ROUTER!r}, [{ROUTER!r}, *sys.argv[1:]])\n")
    return shlex.join([sys.executable, str(path)])


def program(folder: Path, text: str, name: str = "build.sh") -> str:
    """A build under test that is a shell script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)
