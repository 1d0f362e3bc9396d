"""Which files appeared in a few folders while a run lasted: the kernel's word (inotify), not a look afterwards.

A state file that was made and removed again within a request is seen too.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from harness.errors import HarnessError
from harness.record import FileEvent

_CREATE, _CLOSE_WRITE, _MOVED_TO, _OVERFLOW = 0x100, 0x008, 0x080, 0x4000
_WORDS = {_CREATE: "created", _CLOSE_WRITE: "written", _MOVED_TO: "moved in"}
_HEAD = struct.Struct("iIII")
_IN_NONBLOCK_CLOEXEC = 0o2004000


class FolderWatch:
    """Watches folders by name from the moment it is made until it is closed."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(_IN_NONBLOCK_CLOEXEC)
        if self._fd < 0:
            raise HarnessError(f"folders cannot be watched: {os.strerror(ctypes.get_errno())}")
        self._names: dict[int, str] = {}
        self._events: list[FileEvent] = []
        self._lost = False
        for name, folder in folders.items():
            watch = libc.inotify_add_watch(self._fd, os.fsencode(folder), _CREATE | _CLOSE_WRITE | _MOVED_TO)
            if watch < 0:
                os.close(self._fd)
                raise HarnessError(f"{folder} cannot be watched: {os.strerror(ctypes.get_errno())}")
            self._names[watch] = name
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def close(self) -> tuple[FileEvent, ...] | None:
        """Everything seen, or None where the kernel dropped some of it."""
        self._read()
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        return None if self._lost else tuple(self._events)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                return
            self._take(data, time.monotonic_ns())

    def _take(self, data: bytes, now_ns: int) -> None:
        at = 0
        while at < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, at)
            name = data[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0").decode(errors="replace")
            at += _HEAD.size + length
            self._lost = self._lost or bool(mask & _OVERFLOW)
            self._events += [
                FileEvent(now_ns, self._names[watch], name, word)
                for bit, word in _WORDS.items()
                if mask & bit and watch in self._names
            ]
