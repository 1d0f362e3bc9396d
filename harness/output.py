"""What a process writes: from its pipe into a file, line by line, until the last writer has closed it.

A pipe is read as it fills, so a process that prints megabytes is never held up, and what is kept of it in the file
and in memory is bounded. Knows no process: it is handed the reading end.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import deque
from pathlib import Path

FILE_BYTES = 64 << 20
"""More than this of one process's output is not kept; the record then says that it was cut."""

LINE_BYTES = 64 << 10
_READ_BYTES = 1 << 18
STAMPED_LINES = 2000
"""Of so many first lines it is known when they came."""

_TAIL_LINES = 20
_TAIL_LINE_CHARS = 400


class Output:
    """The output of one process. `matched` gives the first line that fits `ready`; `ended` comes with its end."""

    def __init__(self, path: Path, ready: re.Pattern[str] | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.path = path
        self.matched: asyncio.Future[re.Match[str]] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.incomplete = ""
        self.stamps: list[int] = []
        self._ready = re.compile(ready.pattern, ready.flags | re.MULTILINE) if ready is not None else None
        self._file = path.open("wb", buffering=0)
        self._written = 0
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._partial = bytearray()
        self._fd: int | None = None

    def read_from(self, fd: int) -> None:
        """Takes the reading end of a pipe, and closes it when it has ended."""
        os.set_blocking(fd, False)
        self._fd = fd
        asyncio.get_running_loop().add_reader(fd, self._readable)

    def tail(self) -> str:
        """The last lines, for an error that has to show what happened."""
        lines = list(self._tail)
        if self._partial:
            lines.append(self._shown(bytes(self._partial)))
        return "\n".join(f"  {self.path.name}: {line}" for line in lines) or f"  {self.path.name}: (no output)"

    def close(self) -> None:
        """Stop reading. Where the pipe had not ended, the record is incomplete and says so."""
        if self._fd is not None:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None
            self.incomplete = self.incomplete or f"{self.path.name} was not read to its end"
        if not self._file.closed:
            self._finish()

    def _readable(self) -> None:
        assert self._fd is not None
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._keep(data)
            self._take(data)
            return
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._fd = None
        self._finish()

    def _finish(self) -> None:
        if self._partial:
            self._take(b"\n")
        self._file.close()
        if not self.ended.done():
            self.ended.set_result(None)

    def _take(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        if lines:
            self._grow(lines[0])
            lines[0] = bytes(self._partial)
            self._partial.clear()
            self.stamps += [time.monotonic_ns()] * min(len(lines), STAMPED_LINES - len(self.stamps))
            self._look_for_ready(lines)
            self._tail.extend(self._shown(line) for line in lines[-_TAIL_LINES:])
        self._grow(rest)

    def _keep(self, data: bytes) -> None:
        room = FILE_BYTES - self._written
        if len(data) > room:
            self.incomplete = f"{self.path.name} was cut at {FILE_BYTES >> 20} MiB"
        try:
            self._written += self._file.write(data[: max(room, 0)])
        except OSError as error:  # a full disk holds up no process: its output is read on, and the record says so
            self.incomplete = self.incomplete or f"{self.path.name} cannot be written: {error.strerror}"

    def _grow(self, part: bytes) -> None:
        self._partial += part[: max(0, LINE_BYTES - len(self._partial))]

    def _look_for_ready(self, lines: list[bytes]) -> None:
        if self._ready is None or self.matched.done():
            return
        if not self._ready.search(b"\n".join(lines).decode(errors="replace")):
            return  # one search over many lines is quick where a program prints megabytes
        for line in lines:
            found = self._ready.search(line[:LINE_BYTES].decode(errors="replace"))
            if found is not None and not self.matched.done():
                self.matched.set_result(found)

    def _shown(self, line: bytes) -> str:
        return line[:_TAIL_LINE_CHARS].decode(errors="replace").rstrip()
