"""Slot save files: which names are allowed, and reading and writing them as llama-server does."""

from __future__ import annotations

import os
from typing import Protocol

MAX_NAME_BYTES = 255
MAX_FILE_BYTES = 4 << 30
_FORBIDDEN = frozenset('/\\:*?"<>|\ufeff\ufffd\uff0e\u2215\u2216')


def is_valid_filename(name: str) -> bool:
    """Whether the real server would take it: no way out of the folder, nothing that another system forbids."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    if not 1 <= size <= MAX_NAME_BYTES or name != name.strip(" ") or name.endswith(".") or ".." in name:
        return False
    return not any(char in _FORBIDDEN or ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F for char in name)


class Files(Protocol):
    """Where save files are kept. Both raise OSError."""

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes) -> None: ...


class Disk:
    """The real file system. An existing file is overwritten in place: a reader can see half of it."""

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_FILE_BYTES:
                raise OSError(f"a file of {size} bytes")
            return file.read()

    def write(self, path: str, data: bytes) -> None:
        with open(path, "wb") as file:
            file.write(data)
