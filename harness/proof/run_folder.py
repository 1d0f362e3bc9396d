"""The folder of one run: where it lies, and the result in it, whole at every moment.

The result is written beside its place and then moved there, after every scenario: whoever kills the run, the
folder tells what was observed until then, and that it is partial.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from datetime import datetime
from pathlib import Path

from harness.errors import UsageError
from harness.result import RunResult

RESULT = "result.json"


def new_run_folder(runs: Path | None, word: str) -> Path:
    """A fresh folder `<time>-<word>-<random>` in `runs`, by default under the temporary folder."""
    parent = runs if runs is not None else Path(tempfile.gettempdir()) / f"kvgate-{os.getuid()}"
    folder = parent / f"{datetime.now():%Y%m%d-%H%M%S}-{word}-{secrets.token_hex(3)}"
    try:
        folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"cannot make the run folder {folder}: {error.strerror}") from None
    return folder.resolve()


def write_result(folder: Path, result: RunResult) -> None:
    """Puts the result in its place in one step, or leaves the former one there. OSError when it cannot be written."""
    write_whole(folder / RESULT, json.dumps(result.to_json(), indent=1, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Writes `path` in one step: no reader ever sees half of it, and a full disk leaves what was there."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
