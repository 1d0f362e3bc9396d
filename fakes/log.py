"""llama-server's log lines: time since start, level, family and function, text.

Lines are gathered and leave in one write when `flush` is called, so that a busy fake does not spend its time here.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

_WIDTH = 12


class Level(Enum):
    """A line's letter, and the verbosity from which on it shows."""

    ERROR = ("E", 1)
    WARN = ("W", 2)
    INFO = ("I", 3)
    TRACE = ("I", 4)
    DEBUG = ("D", 5)

    def __init__(self, letter: str, verbosity: int) -> None:
        self.letter = letter
        self.verbosity = verbosity


class Log:
    """Writes through `write`, which takes bytes."""

    def __init__(self, write: Callable[[bytes], object], clock_ns: Callable[[], int], verbosity: int) -> None:
        self._write = write
        self._clock_ns = clock_ns
        self._start_ns = clock_ns()
        self._verbosity = verbosity
        self._pending: list[str] = []

    def srv(self, level: Level, function: str, text: str) -> None:
        """A line of the server itself."""
        self._line(level, f"srv  {function[:_WIDTH]:>{_WIDTH}}: {text}")

    def slot(self, level: Level, function: str, id_slot: int, id_task: int, *texts: str) -> None:
        """A line, or several at once, about one slot and the task it works on, -1 for none."""
        front = f"slot {function[:_WIDTH]:>{_WIDTH}}: id {id_slot:2d} | task {id_task} | "
        self._line(level, *[front + text for text in texts])

    def raw(self, text: str) -> None:
        """A line without time and level."""
        self._pending.append(text + "\n")

    def flush(self) -> None:
        if self._pending:
            self._write("".join(self._pending).encode(errors="replace"))
            self._pending.clear()

    def _line(self, level: Level, *texts: str) -> None:
        if level.verbosity <= self._verbosity:
            micros = (self._clock_ns() - self._start_ns) // 1000
            seconds, micros = divmod(micros, 1_000_000)
            stamp = f"{seconds // 60}.{seconds % 60:02d}.{micros // 1000:03d}.{micros % 1000:03d}"
            self._pending += [f"{stamp} {level.letter} {text}\n" for text in texts]
