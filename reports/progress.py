"""What a person sees while a run goes on: what runs, how many of how many, what failed so far.

On a terminal one line that is written over; elsewhere one line for each finished scenario, so that a CI log
shows where a run hangs.
"""

from __future__ import annotations

from typing import TextIO

from harness.result import ScenarioResult, Status
from reports.counts import seconds_text, tally_text
from reports.printable import printable, shortened
from reports.terminal import Screen, on

_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """Told of each scenario as it starts and ends. `total` counts scenarios over all builds and repeats."""

    def __init__(self, stream: TextIO, total: int, screen: Screen | None = None, *, quiet: bool = False) -> None:
        self._stream, self._total, self._quiet = stream, total, quiet
        self._screen = screen or on(stream)
        self._live = stream.isatty()
        self._ended = self._failed = 0

    def started(self, suite: str, scenario: str, build: str) -> None:
        if not self._live:
            return
        failed = f", {self._failed} failed" if self._failed else ""
        line = f"[{self._ended + 1}/{self._total}{failed}] {printable(f'{build}: {suite} / {scenario}')}"
        self._write(_CLEAR_LINE + shortened(line, self._screen.width - 1))

    def ended(self, result: ScenarioResult) -> None:
        self._ended += 1
        self._failed += result.status in (Status.FAIL, Status.ERROR)
        if not self._live:
            where = printable(f"{result.build}: {result.suite} / {result.scenario}")
            counted = f"{tally_text(result.checks)}, {seconds_text(result.duration_s)}"
            self._write(f"[{self._ended}/{self._total}] {result.status:<5} {where} ({counted})\n")

    def finished(self) -> None:
        """The line is taken away, so that the report starts on an empty one."""
        if self._live:
            self._write(_CLEAR_LINE)

    def _write(self, text: str) -> None:
        if not self._quiet:
            self._stream.write(text)
            self._stream.flush()
