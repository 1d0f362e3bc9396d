"""What a command prints when it is asked for its version.

A program that knows no `--version` may start to serve instead, or start others: it runs under a guardian that ends
all of it at the deadline, and when we are gone. What it printed until then is not taken for a version.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness import guardian

_DEADLINE_S = 5.0
_MAX_CHARACTERS = 400


def version_output(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Callable[[], str | None]:
    """Starts the command at once; the call returned waits for its answer, None when there is none."""
    try:
        process = subprocess.Popen(
            (sys.executable, "-I", "-S", guardian.__file__, "--run", *command, "--version"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    except OSError:
        return lambda: None
    return lambda: _answer(process)


def _answer(process: subprocess.Popen[bytes]) -> str | None:
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        output = _read(process.stdout.fileno(), time.monotonic() + _DEADLINE_S)
        process.stdin.close()
    text = output.decode("utf-8", "replace").strip()[:_MAX_CHARACTERS]
    return text if text and process.returncode == 0 else None


def _read(fd: int, until: float) -> bytes:
    """What is printed until the end or the deadline."""
    output = b""
    while select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
        if not (data := os.read(fd, 1 << 16)):
            break
        output = (output + data)[: _MAX_CHARACTERS * 8]
    return output
