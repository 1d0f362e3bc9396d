"""Puts a mutant of the router into gates that start the router themselves, as pytest loads the mutant."""

from __future__ import annotations

import atexit
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from gates import commands


def stand_in(module: str) -> None:
    """From here on gates start `module` where they mean the router."""
    folder = tempfile.mkdtemp(prefix="kvgate-mutant-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = Path(folder) / "kvgate-router"
    path = f"PYTHONPATH={shlex.quote(str(commands.ROOT))}${{PYTHONPATH:+:$PYTHONPATH}}"
    script.write_text(f'#!/bin/sh\n{path} exec {shlex.quote(sys.executable)} -m {module} "$@"\n')
    script.chmod(0o700)
    commands.ROUTER = str(script)
