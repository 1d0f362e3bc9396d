"""Builds of git refs: each in a clean clone of its own, so that no program is stitched from two trees.

Kept by the tree's hash and the build command: the same sources are built once, even when two runs want them at
the same moment. A clone and not a worktree, since that would write into the person's repository.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.errors import HarnessError, UsageError

_GIT_DEADLINE_S = 600.0
_LAST_LINES = 20
_DONE = "built.json"
_LOG = "build.log"


class BuildFailed(HarnessError):
    """A ref that could not be built; the last lines of its log are in the message."""


@dataclass(frozen=True, slots=True)
class RefBuild:
    """A ref that was built: what it was, where it lies, and how long it took."""

    ref: str
    commit: str
    tree: str
    source: str
    build: str
    log: str
    build_s: float

    def filled(self, words: Iterable[str]) -> tuple[str, ...]:
        """`words` with {src} and {build} in them replaced by the folders."""
        return tuple(word.replace("{src}", self.source).replace("{build}", self.build) for word in words)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvgate" / "builds"


def build_ref(
    repo: Path, ref: str, command: str, *, cache: Path | None = None, announce: Callable[[str], None] = lambda _: None
) -> RefBuild:
    """The build of `ref`, made now or found; `announce` is told when there is something to wait for.

    UsageError for what is no repository or no commit of it; BuildFailed.
    """
    commit = _resolved(repo, ref)
    tree = _git(repo, "rev-parse", f"{commit}^{{tree}}")
    key = f"{tree[:20]}-{hashlib.sha256(command.encode()).hexdigest()[:12]}"
    folder = (cache or cache_folder()) / key
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        if (found := _found(folder, ref)) is not None:
            return found
        announce(f"building {ref} ({commit[:10]}); its log is {folder / _LOG}")
        return _made(repo, ref, commit, tree, command, folder)


def _resolved(repo: Path, ref: str) -> str:
    if not (repo / ".git").exists() and not (repo / "HEAD").is_file():
        raise UsageError(f"--repo: {repo} is no git repository")
    done = _run_git(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode != 0:
        raise UsageError(f"{repo} has no commit called {ref!r}")
    return done.stdout.strip()


def _found(folder: Path, ref: str) -> RefBuild | None:
    """A build made earlier, unless somebody changed its sources since."""
    try:
        build = RefBuild(**json.loads((folder / _DONE).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    changed = _run_git(Path(build.source), "status", "--porcelain", "--untracked-files=no")
    if changed.returncode != 0 or changed.stdout:
        return None
    return RefBuild(**asdict(build) | {"ref": ref})


def _made(repo: Path, ref: str, commit: str, tree: str, command: str, folder: Path) -> RefBuild:
    source, target, log = folder / "src", folder / "build", folder / _LOG
    for stale in (source, target):
        shutil.rmtree(stale, ignore_errors=True)
    (folder / _DONE).unlink(missing_ok=True)
    _clone(repo, commit, source)
    target.mkdir()
    began = time.monotonic()
    _build(command, source, target, log, ref)
    build = RefBuild(ref, commit, tree, str(source), str(target), str(log), round(time.monotonic() - began, 1))
    (folder / _DONE).write_text(json.dumps(asdict(build), indent=1) + "\n")
    return build


def _clone(repo: Path, commit: str, source: Path) -> None:
    _git(repo, "clone", "--quiet", "--no-checkout", "--shared", str(repo.resolve()), str(source))
    _git(source, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", commit)
    if (source / ".gitmodules").exists():
        _git(source, "submodule", "update", "--quiet", "--init", "--recursive")


def _build(command: str, source: Path, target: Path, log: Path, ref: str) -> None:
    """Runs the command in a shell in the source tree. Its output is the log, kept whether it works or not."""
    filled = command.replace("{src}", shlex.quote(str(source))).replace("{build}", shlex.quote(str(target)))
    with log.open("wb") as output:
        output.write(f"$ {filled}\n".encode())
        output.flush()
        status = subprocess.run(
            ("sh", "-c", filled), cwd=source, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ).returncode
    if status != 0:
        last = "\n".join(log.read_text("utf-8", "replace").splitlines()[-_LAST_LINES:])
        raise BuildFailed(f"the build of {ref} ended with status {status}; its log is {log}\n{last}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One builder at a time, over all processes; the lock goes with the process that holds it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _git(repo: Path, *arguments: str) -> str:
    done = _run_git(repo, *arguments)
    if done.returncode != 0:
        raise UsageError(f"git {' '.join(arguments[:2])} in {repo}: {done.stderr.strip()}")
    return done.stdout.strip()


def _run_git(repo: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Where git itself runs us (a hook, `git bisect run`), its variables point at another repository.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ("git", "-C", str(repo), *arguments)
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_GIT_DEADLINE_S, env=environment)
    except FileNotFoundError:
        raise UsageError("--repo needs git, which is not installed") from None
    except subprocess.TimeoutExpired:
        raise HarnessError(f"waited {_GIT_DEADLINE_S:g} s for git {arguments[0]} in {repo}") from None
