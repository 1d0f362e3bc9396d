"""The one folder where models and servers are kept, and how several processes share it.

A file appears whole or not at all: it is written beside its place under a name of its own and renamed. Who makes
a thing holds that thing's lock, so the second process waits and then finds it made. What a killed process left
half-written is removed by the next holder of the lock. This module does not know what is kept.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from harness.models.errors import CacheError

LOCK_DEADLINE_S = 1800.0
PARTIAL = ".partial-"
MIB = 1024 * 1024


def root() -> Path:
    """`KVGATE_CACHE`, else `kvgate` under `XDG_CACHE_HOME`, else under `~/.cache`; made if need be."""
    if chosen := os.environ.get("KVGATE_CACHE"):
        folder = Path(chosen).expanduser()
    else:
        base = os.environ.get("XDG_CACHE_HOME")
        folder = (Path(base) if base else Path("~/.cache").expanduser()) / "kvgate"
    return made(folder.absolute())


def made(folder: Path) -> Path:
    """The folder, made if need be."""
    with _said_plainly(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(place: Path, deadline_s: float = LOCK_DEADLINE_S) -> Iterator[None]:
    """Hold the lock of `place` (a file or folder that may not exist yet) and sweep what its dead makers left."""
    lock = place.with_name(f".{place.name}.lock")
    with _said_plainly(lock):
        made(lock.parent)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor, lock, deadline_s)
        for stray in place.parent.glob(f".{place.name}{PARTIAL}*"):
            _remove(stray)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, lock: Path, deadline_s: float) -> None:
    """A lock has no timeout of its own, so a thread waits for it and this one waits for the thread."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    print(f"this is being made already; waiting for {lock}", file=sys.stderr, flush=True)
    waiter = threading.Thread(target=_flock, args=(os.dup(descriptor),), daemon=True)
    waiter.start()
    waiter.join(deadline_s)
    if waiter.is_alive():
        raise CacheError(f"waited {deadline_s:.0f} s for the lock {lock}: somebody else still holds it")


def _flock(descriptor: int) -> None:
    # A duplicate shares the lock: closing it here gives nothing up while the original is open.
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def installing(place: Path) -> Iterator[Path]:
    """A path beside `place` to write to; renamed to `place` at the end, removed if anything goes wrong."""
    partial = _own_name(place)
    try:
        with _said_plainly(place):
            made(place.parent)
            yield partial
            _sync(partial)
            partial.replace(place)
    finally:
        _remove(partial)


@contextlib.contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """An empty folder beside `place`, on the same disk, gone afterwards."""
    folder = _own_name(place)
    try:
        with _said_plainly(place):
            yield made(folder)
    finally:
        _remove(folder)


def _own_name(place: Path) -> Path:
    """Nobody else's: threads of one process share their pid, so that would not do."""
    return place.with_name(f".{place.name}{PARTIAL}{secrets.token_hex(8)}")


def _sync(path: Path) -> None:
    """A rename may reach the disk before the bytes: after a power cut the name would hold an empty file."""
    if not path.is_file():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def room_for(n_bytes: int, folder: Path) -> None:
    """Refuse to begin what cannot fit."""
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise CacheError(f"no space in {folder}: {n_bytes // MIB} MB are needed and {free // MIB} MB are free")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_digest(path: Path, sha256: str) -> bool:
    """Does the file hold these bytes? Read once: a note remembers it for as long as size and time stay."""
    stat = path.stat()
    seen = f"{path} {stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"
    note = root() / "checked" / sha256
    with contextlib.suppress(OSError):
        if note.read_text(encoding="utf-8") == seen:
            return True
    if sha256_of(path) != sha256:
        return False
    with installing(note) as partial:
        partial.write_text(seen, encoding="utf-8")
    return True


@contextlib.contextmanager
def _said_plainly(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CacheError(f"no space left on the disk of {place.parent} while writing {place.name}") from err
        # What numpy raises when it cannot write all has a text and no number.
        said = os.strerror(err.errno) if err.errno else str(err)
        raise CacheError(f"cannot write {err.filename or place}: {said} (KVGATE_CACHE moves the cache)") from err
