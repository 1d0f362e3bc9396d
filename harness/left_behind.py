"""What a build leaves behind: processes, descriptors, sockets, files. Looked for by us, not asked of the build.

Descriptors are compared while the build still runs, since its end frees them; files and processes after its end.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.deadline import until
from harness.errors import DeadlineMissed
from harness.plan import PART, Folders
from harness.processes import Guardian

SETTLED_S = 3.0
"""How long after the last reply a build may still hold what that reply needed."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """How many descriptors of a kind that must not pile up a process holds. Pooled TCP connections may stay."""

    counts: Mapping[str, int]

    def more_than(self, before: Descriptors) -> list[str]:
        grown = {kind: count - before.counts.get(kind, 0) for kind, count in self.counts.items()}
        return [f"{count} more {kind} open than when it was ready" for kind, count in grown.items() if count > 0]


def descriptors(pid: int) -> Descriptors:
    """Of a process that runs. Empty for one that is gone."""
    return Descriptors(Counter(kind for target in _targets(pid) if (kind := _kind(target))))


def _targets(pid: int) -> Iterable[str]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            yield os.readlink(f"{folder}/{name}")
        except OSError:
            continue


def _kind(target: str) -> str | None:
    if target.startswith("/memfd:"):
        return "memory descriptor (memfd)"
    if target.startswith("anon_inode:[pidfd]") or target.startswith("pidfd:"):
        return "process descriptor (pidfd)"
    return "pipe end" if target.startswith("pipe:") else "file" if _is_file(target) else None


def _is_file(target: str) -> bool:
    return target.startswith("/") and not target.startswith(("/dev/", "/proc/", "/sys/"))


def regions_mapped(pid: int) -> list[str]:
    """Lines of a process's memory map that show a shared memory descriptor."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [line for line in lines if "/memfd:" in line]


async def descriptors_left(pid: int, before: Descriptors) -> list[str]:
    """What a running build still holds a moment after its last reply."""
    found: list[str] = []

    async def settled() -> bool | None:
        found[:] = descriptors(pid).more_than(before)
        return None if found else True

    try:
        await until(SETTLED_S, "the build to let go of what the requests needed", settled)
    except DeadlineMissed:
        return found
    return []


def files_left(folders: Folders) -> list[str]:
    """Files and sockets in the folders that were made for the build and are empty when it starts."""
    named = {"temporary": folders.tmp, "slot-save": folders.slots, "working": folders.cwd}
    return [
        f"{_what(path)} {path.relative_to(folder)} in the {name} folder"
        for name, folder in named.items()
        for path in sorted(folder.rglob("*"))
        if not path.is_dir() or not any(path.iterdir())
    ]


def _what(path: Path) -> str:
    return "the socket" if path.is_socket() else "the folder" if path.is_dir() else "the file"


@dataclass(frozen=True, slots=True)
class Strays:
    """Processes that nobody ended: of the build, and of our own side."""

    build: tuple[str, ...]
    own: tuple[str, ...]


async def end_strays(guardian: Guardian, expected: frozenset[int]) -> Strays:
    """Finds what runs below the guardian and should not, and ends it."""
    living = [process for process in await guardian.processes() if process["pid"] not in expected]
    told = [(_part(process["pid"]), _described(process)) for process in living]
    while living:
        await guardian.kill([process["pid"] for process in living])
        living = [process for process in await guardian.processes() if process["pid"] not in expected]
    ours = tuple(text for part, text in told if part in ("fake", "real"))
    return Strays(tuple(text for part, text in told if part not in ("fake", "real")), ours)


def _part(pid: int) -> str:
    """Whose child a process is, by the variable it inherited. One that wiped its environment is the build's."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    prefix = f"{PART}=".encode()
    return next((each[len(prefix) :].decode() for each in environment if each.startswith(prefix)), "")


def _described(process: Mapping[str, Any]) -> str:
    return f"the process {process['pid']} ({process['command'][:120]})"
