"""The prompts of a comparison: a file with one prompt a line, as text or as a JSON list of token ids."""

from __future__ import annotations

import json
from pathlib import Path

from harness.errors import UsageError

Prompt = str | tuple[int, ...]

OUR_OWN: tuple[Prompt, ...] = (
    "The ferry leaves the harbour at seven, and the gulls",
    "List three things that a baker does before sunrise:",
    "def mean(values):\n    ",
    "In the oldest part of the town stands a house whose",
    "Water boils sooner on a mountain because",
)


def read(path: Path) -> tuple[Prompt, ...]:
    """UsageError names file and line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--prompts: {path} cannot be read: {error}") from None
    found = tuple(_prompt(path, number, line) for number, line in enumerate(lines, 1) if line.strip())
    if not found:
        raise UsageError(f"--prompts: {path} holds no prompt")
    return found


def _prompt(path: Path, number: int, line: str) -> Prompt:
    if not line.lstrip().startswith("["):
        return line
    try:
        ids = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{path}:{number}: no JSON list of token ids: {error}") from None
    if not ids or not all(isinstance(token, int) and not isinstance(token, bool) and token >= 0 for token in ids):
        raise UsageError(f"{path}:{number}: expected token ids, whole numbers from 0 up")
    return tuple(ids)
