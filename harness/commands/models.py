"""`kvgate models`: see `harness.models.cli`."""

from __future__ import annotations

from collections.abc import Sequence

from harness.models import cli


def main(words: Sequence[str]) -> int:
    return cli.main(words)
