"""Which build was really run: a fingerprint of a command, and what moved between two of them.

A fingerprint holds the program, what it loads (shared libraries, or the module files of a Python program),
the files its command names, and the git trees it comes from. It is taken before a run, looked at again after
each scenario and at the end. Whatever moved in between taints the run, a file rewritten with the same content
included: for a moment there was something else.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.proof.elf import Elf, NotElf, read_elf
from harness.proof.file_facts import FileDigests, FileFact, Stamp, stamp_of
from harness.proof.looks import Looks, Scan, Started
from harness.proof.python_program import find_python, resolve
from harness.proof.source_tree import SourceTree, newer_sources, roots_of, work_tree_above
from harness.proof.version_output import version_output

_LOADER_DEADLINE_S = 10.0
# A file named on the command line that is larger (a model) is known by size and times alone.
_MAX_DIGESTED_ARGUMENT = 64 << 20
_DIGESTS = FileDigests()
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "fish"}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Everything known about a command at one moment. `watched` are stamps of every file and folder looked at.

    `words` are what the command says beside the files it names: a module, flags.
    """

    program: FileFact | None
    elf: Elf | None
    libraries: tuple[FileFact, ...]
    python: str | None
    modules: tuple[FileFact, ...]
    arguments: tuple[FileFact, ...]
    trees: tuple[SourceTree, ...]
    version: str | None = None
    warnings: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    watched: Mapping[str, Stamp | None] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """One digest of all content that runs, and of how: what a history or a cache is keyed by.

        Times, places and trees are not in it.
        """
        parts = [self.program, *self.libraries, *self.modules, *self.arguments]
        lines = [f"{Path(part.path).name} {part.sha256}" for part in parts if part is not None]
        return hashlib.sha256("\n".join([*lines, *self.words]).encode("utf-8", "surrogateescape")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        program = self.program
        return {
            "digest": self.digest,
            "path": program.path if program else None,
            "sha256": program.sha256 if program else None,
            "size": program.size if program else None,
            "mtime": _iso(program.mtime_ns) if program else None,
            "build_id": self.elf.build_id if self.elf else None,
            "version": self.version,
            "libraries": [{"path": fact.path, "sha256": fact.sha256} for fact in self.libraries],
            "python": self.python,
            "modules": _by_package(self.modules),
            "arguments": [{"path": fact.path, "sha256": fact.sha256} for fact in self.arguments],
            "trees": [{**asdict(tree), "dirty": tree.changes is not None} for tree in self.trees],
            "warnings": list(self.warnings),
        }


class Provenance:
    """Takes fingerprints of one command. `cwd` and `environment` are those the build is started with."""

    def __init__(self, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str] | None = None) -> None:
        self._command = tuple(command)
        self._cwd = cwd
        self._environment = dict(os.environ if environment is None else environment)

    @property
    def python(self) -> Started | None:
        """The Python program in the command, where there is one."""
        found = find_python(self._command, self._cwd, self._environment)
        return None if found is None else Started(found, self._cwd, self._environment)

    def take(self, *, with_version: bool = False, looks: Looks | None = None) -> Fingerprint:
        """The fingerprint now. The version is asked for once, before the run: it starts the command.

        `looks` is shared by builds whose fingerprints are taken at the same moment.
        """
        looks = Looks() if looks is None else looks
        # The version runs beside the scan, so that both together take no longer than the slower one.
        version = version_output(self._command, self._cwd, self._environment) if with_version else None
        program = resolve(self._command[0], self._cwd, self._environment) if self._command else None
        real = program.resolve() if program else None
        fact = _DIGESTS.fact(str(real)) if real else None
        elf = _elf_of(real)
        libraries = _facts(_libraries(real, elf, self._environment)) if real and elf else ()
        python = self.python
        scan = looks.modules(python) if python else None
        modules = _facts(scan["files"]) if scan else ()
        arguments = self._arguments(real)
        trees = _trees(program, real, modules, scan, looks)
        return Fingerprint(
            program=fact,
            elf=elf,
            libraries=libraries,
            python=scan["version"] if scan else None,
            modules=modules,
            arguments=arguments,
            trees=trees,
            version=version() if version else None,
            warnings=tuple(self._warnings(fact, elf, trees, python, scan)),
            words=tuple(word for word in self._command[1:] if not os.path.exists(self._cwd / word)),
            watched=_stamps((fact, *libraries, *modules, *arguments)),
        )

    def moved_since(self, before: Fingerprint, looks: Looks | None = None) -> tuple[str, ...]:
        """What is not as it was, one line each. Cheap while nothing moved: files are stamped, not read."""
        looks = Looks() if looks is None else looks
        return differences(before, self.take(looks=looks)) if has_moved(before, looks) else ()

    def _arguments(self, program: Path | None) -> tuple[FileFact, ...]:
        """The files that the command names beside the program: a script, a configuration, a model."""
        found: dict[str, FileFact] = {}
        for word in self._command[1:]:
            named = self._cwd / word.rpartition("=")[2]
            if not os.path.isfile(named) or (path := named.resolve()) == program:
                continue
            if (stamp := stamp_of(str(path))) is None:
                continue
            large = stamp.size > _MAX_DIGESTED_ARGUMENT
            fact = FileFact(str(path), "", stamp.size, stamp.mtime_ns, stamp.inode) if large else None
            fact = fact or _DIGESTS.fact(str(path))
            if fact is not None:
                found[fact.path] = fact
        return tuple(found.values())

    def _warnings(
        self,
        program: FileFact | None,
        elf: Elf | None,
        trees: Sequence[SourceTree],
        python: Started | None,
        scan: Scan | None,
    ) -> Iterable[str]:
        if program is None:
            yield f"{self._command[0] if self._command else 'an empty command'}: no such program"
        elif Path(self._command[0]).name in _SHELLS:
            yield "a shell runs this command: what it starts is not in the fingerprint"
        if python is not None and scan is None:
            yield f"{python.python.interpreter} did not list the modules it loads: they are not in the fingerprint"
        for tree in trees:
            if tree.changes is not None:
                yield f"{tree.root} has {tree.changed_files} changed file(s) on top of {tree.commit[:10]}"
            compiled = elf is not None and python is None and program is not None
            if compiled and program and (newer := newer_sources(Path(tree.root), program.mtime_ns)):
                yield f"{len(newer)} source file(s) in {tree.root} are newer than the program, {newer[0]} for one"


def take_together(builds: Mapping[str, Provenance]) -> dict[str, Fingerprint]:
    """Fingerprints of many builds, by name. What they have in common is looked at once."""
    looks = Looks()
    looks.scan_together(python for build in builds.values() if (python := build.python) is not None)
    return {name: build.take(looks=looks) for name, build in builds.items()}


def moved_together(builds: Mapping[str, Provenance], before: Mapping[str, Fingerprint]) -> tuple[str, ...]:
    """What moved of many builds since their fingerprints were taken, each thing once."""
    looks = Looks()
    moved = {name: build for name, build in builds.items() if has_moved(before[name], looks)}
    looks.scan_together(python for build in moved.values() if (python := build.python) is not None)
    found = (line for name, build in moved.items() for line in differences(before[name], build.take(looks=looks)))
    return tuple(dict.fromkeys(found))


def has_moved(before: Fingerprint, looks: Looks) -> bool:
    """Whether anything was touched, be it with the same content."""
    trees = tuple(filter(None, (looks.tree(Path(tree.root), tree.scope) for tree in before.trees)))
    return any(_moved_trees(*_by_root(before.trees, trees))) or any(
        stamp_of(path) != stamp for path, stamp in before.watched.items()
    )


def _facts(paths: Iterable[str]) -> tuple[FileFact, ...]:
    return tuple(fact for path in paths if (fact := _DIGESTS.fact(path)) is not None)


def _trees(
    program: Path | None, real: Path | None, modules: Sequence[FileFact], scan: Scan | None, looks: Looks
) -> tuple[SourceTree, ...]:
    """Where the build comes from. Of a Python program that is where its own modules lie, not the interpreter."""
    if scan is None:
        roots = dict.fromkeys(root for file in (program, real) if file is not None for root in roots_of(file))
        return tuple(tree for root in roots if (tree := looks.tree(root)) is not None)
    own = [Path(fact.path) for fact in modules if not fact.path.startswith(tuple(scan["site"]))]
    folders = dict.fromkeys(file.parent for file in [*own, *map(Path, filter(None, [scan["script"]]))])
    scopes: dict[Path, list[str]] = {}
    for folder in folders:
        if (root := work_tree_above(folder / "module")) is not None:
            scopes.setdefault(root, []).append(os.path.relpath(folder, root))
    found = (looks.tree(root, tuple(sorted(scope))) for root, scope in scopes.items())
    return tuple(tree for tree in found if tree is not None)


def differences(before: Fingerprint, after: Fingerprint) -> tuple[str, ...]:
    """What moved from `before` to `after`, one line for each file or tree."""
    found: list[str] = []
    pick: tuple[Callable[[Fingerprint], Iterable[FileFact]], ...] = (
        lambda whole: [whole.program] if whole.program else [],
        lambda whole: whole.libraries,
        lambda whole: whole.modules,
        lambda whole: whole.arguments,
    )
    for facts in pick:
        found += _moved_files({f.path: f for f in facts(before)}, {f.path: f for f in facts(after)})
    found += _moved_trees(*_by_root(before.trees, after.trees))
    return tuple(dict.fromkeys(found))


def _by_root(
    before: Sequence[SourceTree], after: Sequence[SourceTree]
) -> tuple[Mapping[str, SourceTree], Mapping[str, SourceTree]]:
    return {tree.root: tree for tree in before}, {tree.root: tree for tree in after}


def _moved_files(before: Mapping[str, FileFact], after: Mapping[str, FileFact]) -> Iterable[str]:
    for path, old in before.items():
        new = after.get(path)
        if new is None:
            yield f"{path} is gone"
        elif new.sha256 != old.sha256:
            yield f"{path} changed: sha256 {old.sha256[:12]}, then {new.sha256[:12]}"
        elif new != old:
            yield f"{path} was written again with the same content"
    yield from (f"{path} was not there before" for path in after if path not in before)


def _moved_trees(before: Mapping[str, SourceTree], after: Mapping[str, SourceTree]) -> Iterable[str]:
    for root, old in before.items():
        new = after.get(root)
        if new is None:
            yield f"the git tree {root} is gone"
        elif new.content != old.content:
            yield f"the git tree {root} went from {old.commit[:10]} to {new.commit[:10]}"
        elif new.changes != old.changes:
            yield f"tracked files in {root} were edited"


def _elf_of(program: Path | None) -> Elf | None:
    if program is None:
        return None
    try:
        # A program with its kernels linked in can be larger than memory is free: only its headers are touched.
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return read_elf(content)
    except (NotElf, OSError, ValueError):
        return None


def _libraries(program: Path, elf: Elf, environment: Mapping[str, str]) -> list[str]:
    """What the machine's loader would load, and the plugins that lie beside the program."""
    beside = {str(path.resolve()) for path in program.parent.glob("*.so*") if path.is_file()}
    if elf.interpreter is None:
        return sorted(beside)
    try:
        listing = subprocess.run(
            (elf.interpreter, "--list", str(program)),
            capture_output=True,
            timeout=_LOADER_DEADLINE_S,
            env=environment,
            stdin=subprocess.DEVNULL,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        listing = ""
    words = (word for line in listing.splitlines() for word in line.split())
    return sorted(beside | {os.path.realpath(word) for word in words if word.startswith("/") and os.path.isfile(word)})


def _stamps(facts: Iterable[FileFact | None]) -> dict[str, Stamp | None]:
    """Stamps of the files, and of their folders where modules are looked for: a new file there may be loaded."""
    files = [fact.path for fact in facts if fact is not None]
    folders = {os.path.dirname(path) for path in files if path.endswith(".py")}
    return {path: stamp_of(path) for path in (*files, *folders)}


def _by_package(modules: Sequence[FileFact]) -> dict[str, dict[str, Any]]:
    """The module files grouped by top package or single module, with one digest for each group."""
    groups: dict[str, list[FileFact]] = {}
    for fact in modules:
        groups.setdefault(_top_folder(fact.path), []).append(fact)
    return {
        folder: {
            "files": len(facts),
            "sha256": hashlib.sha256("\n".join(f"{f.path} {f.sha256}" for f in facts).encode()).hexdigest(),
        }
        for folder, facts in groups.items()
    }


def _top_folder(path: str) -> str:
    """The outermost folder above `path` that is a package; `path` itself where none is."""
    top, folder = path, os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        top, folder = folder, os.path.dirname(folder)
    return top


def _iso(mtime_ns: int) -> str:
    return datetime.fromtimestamp(mtime_ns / 1e9, UTC).isoformat(timespec="milliseconds")
