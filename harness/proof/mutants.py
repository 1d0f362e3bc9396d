"""The register of mutants: one file each, read and never imported.

    SUITES = ("hybrid_route", "parity/good")  the suites, or scenarios of them, whose checks it is meant to turn red
    REPLACES = "router"                       what is started as this file: router (unless said), decoder, provider,
                                              or harness: then it has no suites but TESTS, pytest's words, which have
                                              to fail with it
    DECODER_FAULTS, PROVIDER_FAULTS = (...)   faults played on top of the scenario's instead of a changed program

All are literals, the docstring says what is wrong in words. A file whose name begins with `_` is none.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.near import did_you_mean


class Replaces(StrEnum):
    """Which part a mutant is started in place of."""

    ROUTER = "router"
    DECODER = "decoder"
    PROVIDER = "provider"
    ENGINE = "engine"
    HARNESS = "harness"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault put back on purpose: where it lies, what it stands for, whom it should be seen by."""

    name: str
    file: Path
    says: str
    suites: tuple[str, ...]
    replaces: Replaces = Replaces.ROUTER
    decoder_faults: tuple[str, ...] = ()
    provider_faults: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    def is_meant_for(self, suite: str, scenario: str) -> bool:
        return suite in self.suites or f"{suite}/{scenario}" in self.suites

    def is_meant_for_any(self, suites: Collection[str]) -> bool:
        return any(each.partition("/")[0] in suites for each in self.suites)

    @property
    def only_faults(self) -> bool:
        """Nothing is replaced: the good build meets faults that the scenario does not expect."""
        return bool(self.decoder_faults or self.provider_faults)

    @property
    def module(self) -> tuple[Path, str]:
        """The folder that has to be on the module path, and the dotted name."""
        folder, parts = self.file.resolve().parent, [self.file.stem]
        while (folder / "__init__.py").exists():
            parts.insert(0, folder.name)
            folder = folder.parent
        return folder, ".".join(parts)


_KEYS = ("SUITES", "REPLACES", "DECODER_FAULTS", "PROVIDER_FAULTS", "TESTS")


def find_mutants(folder: Path, names: Sequence[str] = ()) -> tuple[Mutant, ...]:
    """The mutants of a folder in the order of their names; those called `names` where any are given."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no folder of mutants")
    found = {file.stem: file for file in sorted(folder.glob("*.py")) if not file.stem.startswith("_")}
    for name in names:
        if name not in found:
            raise UsageError(f"no mutant is called {name!r}{did_you_mean(name, found)}")
    return tuple(read_mutant(file) for name, file in found.items() if not names or name in names)


def read_mutant(file: Path) -> Mutant:
    """One mutant. UsageError says file and line of what is wrong with it."""
    try:
        tree = ast.parse(file.read_text("utf-8"), str(file))
    except SyntaxError as error:
        raise UsageError(f"{file}:{error.lineno}: {error.msg}") from None
    values = _literals(tree, file)
    suites = values.get("SUITES", ())
    replaces = _replaces(values.get("REPLACES", Replaces.ROUTER), file)
    if not suites and replaces is not Replaces.HARNESS:
        raise UsageError(f"{file}: names no suite that it is meant for (SUITES)")
    says = (ast.get_docstring(tree) or "").strip()
    if not says:
        raise UsageError(f"{file}: does not say what is wrong with it (its docstring)")
    if bool(values.get("TESTS")) != (replaces is Replaces.HARNESS):
        raise UsageError(f"{file}: TESTS belong to a mutant of the harness, and to no other")
    return Mutant(
        name=file.stem,
        file=file,
        says=" ".join(says.split("\n\n")[0].split()),
        suites=tuple(suites),
        replaces=replaces,
        decoder_faults=tuple(values.get("DECODER_FAULTS", ())),
        provider_faults=tuple(values.get("PROVIDER_FAULTS", ())),
        tests=tuple(values.get("TESTS", ())),
    )


def _literals(tree: ast.Module, file: Path) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for statement in tree.body:
        target = _assigned(statement)
        if target not in _KEYS or not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        try:
            value = ast.literal_eval(statement.value)
        except ValueError:
            raise UsageError(f"{file}:{statement.lineno}: {target} has to be a literal") from None
        if target != "REPLACES" and not _is_words(value):
            raise UsageError(f"{file}:{statement.lineno}: {target} has to be a tuple of words")
        values[target] = value
    return values


def _assigned(statement: ast.stmt) -> str | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _is_words(value: object) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(word, str) and word for word in value)


def _replaces(value: object, file: Path) -> Replaces:
    try:
        return Replaces(str(value))
    except ValueError:
        known = [str(each) for each in Replaces]
        near = did_you_mean(str(value), known)
        raise UsageError(f"{file}: REPLACES {value!r} is none of {', '.join(known)}{near}") from None
