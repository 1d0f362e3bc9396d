"""How far along something long is: a line that moves on a terminal, one line at either end elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TextIO

MIB = 1024 * 1024
_LOOK_S = 0.3


class Progress:
    """Counts bytes towards a known total. `quiet` says nothing."""

    def __init__(self, what: str, total_bytes: int, *, out: TextIO | None = None) -> None:
        self.what = what
        self.total_bytes = total_bytes
        self.done_bytes = 0
        self._out = sys.stderr if out is None else out
        self._moving = self._out.isatty()
        self._shown = -1

    def __enter__(self) -> Progress:
        if not self._moving:
            self._out.write(f"{self.what}: {self.total_bytes / MIB:.0f} MB ...\n")
        return self

    def advance(self, n_bytes: int) -> None:
        self.done_bytes += n_bytes
        percent = 100 * self.done_bytes // max(1, self.total_bytes)
        if self._moving and percent != self._shown:
            self._shown = percent
            self._out.write(f"\r{self.what}: {percent:3d}% of {self.total_bytes / MIB:.0f} MB")
            self._out.flush()

    @contextlib.contextmanager
    def growing(self, folder: Path) -> Iterator[None]:
        """While somebody else writes below `folder`, count the largest file there."""
        done = threading.Event()

        def look() -> None:
            while not done.wait(_LOOK_S):
                self.advance(max(0, _largest(folder) - self.done_bytes))

        looking = threading.Thread(target=look, daemon=True)
        if self._moving:
            looking.start()
        try:
            yield
        finally:
            done.set()
            if self._moving:
                looking.join()

    def __exit__(
        self, kind: type[BaseException] | None, _value: BaseException | None, _at: TracebackType | None
    ) -> None:
        if self._moving:
            self._out.write("\n")
        elif kind is None:
            self._out.write(f"{self.what}: done\n")
        self._out.flush()


def _largest(folder: Path) -> int:
    """Size of the largest file below; what vanishes meanwhile has none."""
    sizes = [0]
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            sizes.append(path.stat().st_size)
    return max(sizes)
