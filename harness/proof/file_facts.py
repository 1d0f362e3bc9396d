"""What a file is at one moment: its content's digest, size, time of last change and inode.

Digests are kept per process and used again while size, both times and inode stay; the time of the last
status change cannot be set back by a program, so a file rewritten in place is always read again.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileFact:
    path: str
    sha256: str
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Stamp:
    """What changes whenever a file does; cheap to look at, and says nothing about content."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def stamp_of(path: str) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


class FileDigests:
    """Reads facts of files, each file once for as long as it does not move."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Stamp, str]] = {}

    def fact(self, path: str) -> FileFact | None:
        """None when the file is not there or cannot be read."""
        stamp = stamp_of(path)
        if stamp is None:
            return None
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            try:
                with open(path, "rb") as file:
                    known = stamp, hashlib.file_digest(file, "sha256").hexdigest()
            except OSError:
                return None
            self._known[path] = known
        return FileFact(path, known[1], stamp.size, stamp.mtime_ns, stamp.inode)
