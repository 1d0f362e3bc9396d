"""The git tree a build lies in or was made from: its commit, and whether it was changed since.

Only tracked files count as changes: logs, results and editors' files beside them make no other build. Of a
program that is known by the very files it loads, only the folders of those files count, not a page of the manual
that somebody writes meanwhile.
Git is asked without taking its optional locks, so that a look never disturbs work in the same tree.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GIT_DEADLINE_S = 20.0
_CMAKE_HOME = "CMAKE_HOME_DIRECTORY:INTERNAL="


@dataclass(frozen=True, slots=True)
class SourceTree:
    """`content` names what HEAD holds in `scope`, `changes` is a digest of what differs from that, None when nothing.

    `scope` are folders relative to the root, without their subfolders; none at all means the whole tree.
    """

    root: str
    commit: str
    content: str
    changes: str | None
    changed_files: int = 0
    scope: tuple[str, ...] = ()


def read_tree(root: Path, scope: tuple[str, ...] = ()) -> SourceTree | None:
    """The state of the git work tree at `root`; None when it is none or has no commit, or git is missing."""
    paths = [f":(glob){folder}/*" if folder != "." else ":(glob)*" for folder in scope]
    status = _git(root, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--", *paths)
    if status is None:
        return None
    lines = status.decode("utf-8", "replace").splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return None
    changed = [line for line in lines if not line.startswith("#")]
    changes = _digest_of_changes(root, changed, paths)
    return SourceTree(str(root), commit, _content(root, commit, scope), changes, len(changed), scope)


def _content(root: Path, commit: str, scope: tuple[str, ...]) -> str:
    if not scope:
        return commit
    folders = [f"{folder}/" if folder != "." else "./" for folder in scope]
    listed = _git(root, "ls-tree", commit, "--", *folders) or b""
    blobs = [line for line in listed.splitlines() if b" tree " not in line]
    return hashlib.sha256(b"\n".join(blobs)).hexdigest()


def _digest_of_changes(root: Path, changed: list[str], paths: list[str]) -> str | None:
    if not changed:
        return None
    diff = _git(root, "diff", "HEAD", "--no-ext-diff", "--no-textconv", "--binary", "--", *paths) or b""
    return hashlib.sha256("\n".join(changed).encode() + b"\0" + diff).hexdigest()


def roots_of(file: Path) -> tuple[Path, ...]:
    """The work tree `file` lies in, and the one that CMake says its build folder was made from."""
    found = dict.fromkeys(filter(None, (work_tree_above(file), _cmake_source(file))))
    return tuple(found)


def work_tree_above(file: Path) -> Path | None:
    return next((folder for folder in file.parents if (folder / ".git").exists()), None)


def _cmake_source(file: Path) -> Path | None:
    cache = next((folder / "CMakeCache.txt" for folder in file.parents if (folder / "CMakeCache.txt").is_file()), None)
    if cache is None:
        return None
    for line in cache.read_text("utf-8", "replace").splitlines():
        if line.startswith(_CMAKE_HOME):
            source = Path(line.removeprefix(_CMAKE_HOME))
            return source if (source / ".git").exists() else work_tree_above(source)
    return None


def newer_sources(root: Path, than_ns: int) -> tuple[str, ...]:
    """Tracked files that were written after `than_ns` (time of last change, as `st_mtime_ns`)."""
    return tuple(name for name, mtime_ns in _tracked(root) if mtime_ns > than_ns)


def _tracked(root: Path) -> Iterator[tuple[str, int]]:
    for name in (_git(root, "ls-files", "-z") or b"").split(b"\0"):
        try:
            if name:
                yield name.decode("utf-8", "replace"), os.lstat(os.path.join(os.fsencode(root), name)).st_mtime_ns
        except OSError:
            continue  # listed and deleted: the tree's changes say so


def _git(root: Path, *arguments: str) -> bytes | None:
    command = ("git", "--no-optional-locks", "-C", str(root), *arguments)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_DEADLINE_S, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
