"""What a command prints when it is asked for its version.

A program that knows no `--version` may start to serve instead: it runs in a process group of its own that is
ended at the deadline, and what it printed until then is not taken for a version.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_DEADLINE_S = 5.0
_MAX_CHARACTERS = 400


def version_output(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Callable[[], str | None]:
    """Starts the command at once; the call returned waits for its answer, None when there is none."""
    try:
        process = subprocess.Popen(
            (*command, "--version"),
            stdin=subprocess.DEVNULL,
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
    try:
        output, _ = process.communicate(timeout=_DEADLINE_S)
    except subprocess.TimeoutExpired:
        output = b""
    finally:
        _end_group(process)
    text = output.decode("utf-8", "replace").strip()[:_MAX_CHARACTERS]
    return text if text and process.returncode == 0 else None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()
