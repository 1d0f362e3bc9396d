"""llama-server's log lines: time since start, level, family and function, text.

Lines are gathered and leave in one write when `flush` is called, so that a busy fake does not spend its time here.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache

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
        self._now = ""

    def srv(self, level: Level, function: str, text: str) -> None:
        """A line of the server itself."""
        if level.verbosity <= self._verbosity:
            self._pending.append(f"{self._stamp()} {level.letter} srv  {_column(function)}: {text}\n")

    def slot(self, level: Level, function: str, id_slot: int, id_task: int, *texts: str) -> None:
        """A line, or several at once, about one slot and the task it works on, -1 for none."""
        if level.verbosity <= self._verbosity:
            front = f"{self._stamp()} {level.letter} slot {_column(function)}: id {id_slot:2d} | task {id_task} | "
            self._pending += [f"{front}{text}\n" for text in texts]

    def raw(self, text: str) -> None:
        """A line without time and level."""
        self._pending.append(text + "\n")

    def flush(self) -> None:
        if self._pending:
            self._write("".join(self._pending).encode(errors="replace"))
            self._pending.clear()
            self._now = ""

    def _stamp(self) -> str:
        """The time since start. Lines that leave together have the same."""
        if not self._now:
            seconds, micros = divmod((self._clock_ns() - self._start_ns) // 1000, 1_000_000)
            self._now = f"{seconds // 60}.{seconds % 60:02d}.{micros // 1000:03d}.{micros % 1000:03d}"
        return self._now


@lru_cache(maxsize=64)
def _column(function: str) -> str:
    return f"{function[:_WIDTH]:>{_WIDTH}}"
