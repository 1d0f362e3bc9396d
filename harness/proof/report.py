"""What a command hands its findings to. The renderers are elsewhere: `harness.cli` brings the two together."""

from __future__ import annotations

from typing import Protocol

from harness.proof.series import Listener
from harness.result import RunResult


class Report(Protocol):
    """Shows how far a run is, and its result at the end."""

    def listener(self, total: int, /) -> Listener:
        """What is told of each of `total` scenario runs."""
        ...

    def show(self, result: RunResult, /) -> int:
        """Shows the result and writes the files that were asked for; the exit status."""
        ...
