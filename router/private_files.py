"""The router's own files: a private folder for its sockets, state files among others' files, and a lock beside each
place that says whose they are.

Names cannot be guessed, links are never followed, modes are for the owner alone. A router that was killed leaves
its lock unheld, by which the next one knows its strays.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from pathlib import Path

PREFIX = "kvgate-"
MAX_SOCKET_PATH = 107
"""All that a socket's address has room for, in bytes."""


class Place:
    """A folder in which this router's files have names of their own, and a lock as long as it lives."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder = folder
        self._stem = f"{PREFIX}{mark}"
        sweep(folder)
        self._lock_path = folder / f"{self._stem}.lock"
        self._lock = _locked(self._lock_path)

    @property
    def pattern(self) -> str:
        """Matches all that this router makes here."""
        return f"{_escaped(self.folder)}/{self._stem}*"

    def new_file(self, suffix: str) -> Path:
        """An empty file, mode 0600, that nobody could have named before. OSError: it cannot be made."""
        path = self.folder / f"{self._stem}-{secrets.token_hex(16)}{suffix}"
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        return path

    def close(self) -> None:
        self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)


def _escaped(folder: Path) -> str:
    return "".join(f"[{ch}]" if ch in "*?[" else ch for ch in str(folder))


def _locked(path: Path) -> int:
    """A held lock file. It gets its name when it is held, so that no sweep takes it for a stray."""
    early = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    fd = os.open(early, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.rename(early, path)
    return fd


def sweep(folder: Path) -> list[str]:
    """Removes the files of routers that are dead; returns their names."""
    swept: list[str] = []
    for lock_path in sorted(folder.glob(f"{PREFIX}*.lock")):
        fd = _open_unheld(lock_path)
        if fd is None:
            continue
        for path in sorted(folder.glob(f"{lock_path.name.removesuffix('.lock')}-*")):
            if _remove(path):
                swept.append(path.name)
        lock_path.unlink(missing_ok=True)
        os.close(fd)
    return swept


def _open_unheld(path: Path) -> int | None:
    """The lock file of a dead router of ours, locked; None if it is held, a link, or not ours."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(fd).st_uid == os.geteuid() and stat.S_ISREG(os.fstat(fd).st_mode):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
    except OSError:
        pass
    os.close(fd)
    return None


def _remove(path: Path) -> bool:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True


class RuntimeFolder:
    """A private folder for sockets, with a path short enough for them."""

    def __init__(self, mark: str) -> None:
        self._place = Place(_short_folder(), mark)
        self.folder = self._place.folder / f"{PREFIX}{mark}-run"
        self.folder.mkdir(mode=0o700)

    @property
    def pattern(self) -> str:
        return self._place.pattern

    def fresh_folder(self) -> Path:
        """A new private folder. OSError: it cannot be made."""
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._place.close()


def _short_folder() -> Path:
    """The system's folder for temporary files, or /tmp where a socket's path would not fit into it."""
    room = len(f"/{PREFIX}{'x' * 16}-run/{'x' * 16}/s")
    folder = tempfile.gettempdir()
    return Path(folder if len(os.fsencode(folder)) + room <= MAX_SOCKET_PATH else "/tmp")
