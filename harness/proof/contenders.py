"""Builds under test as they are given on a command line: a command, its environment, its profile.

A command is what a shell would take; beside that a Python file (a mutant's launcher) and, for decoders, a released
server by name (`xllamacpp==0.2.0`). Builds run in a folder of their own, so what a person's words mean in the
current folder is spelt out here: paths become absolute, and `python -m` still finds modules that lie in it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness import profiles
from harness.errors import UsageError
from harness.profiles import Build
from harness.proof.provenance import Provenance
from harness.proof.python_program import find_python
from harness.proof.series import Contender
from harness.real.find import NAMES, find_server
from harness.scenario import Kind


def build_of(
    name: str, command: str, *, kind: Kind, profile: str | None = None, env: Iterable[str] = (), said_by: str = ""
) -> Build:
    """A build from what was typed. UsageError names `said_by`, the flag that it was typed for."""
    flag = said_by or f"--{name}"
    words = _program_of(words_of(command, flag), kind)
    build = build_from_words(name, words, kind=kind, profile=profile, env=env, said_by=flag)
    refuse_missing_program(build, flag)
    return build


def build_from_words(
    name: str, words: tuple[str, ...], *, kind: Kind, profile: str | None, env: Iterable[str], said_by: str
) -> Build:
    found = profiles.named(profile) if profile is not None else profiles.default_profile(kind)
    if found.kind is not kind:
        raise UsageError(f"the profile {found.name} starts {found.kind.one}, the scenarios put {kind.one} under test")
    environment = environment_of(env, f"{said_by}-env")
    words = tuple(_absolute(word) for word in words)
    return Build(name, words, found, _module_path(words, environment) | environment)


def _absolute(word: str) -> str:
    """A word that names something by a relative path, in full; links are not followed, since venvs are made of them."""
    names_a_path = "/" in word or word.endswith(".py")
    return os.path.abspath(word) if names_a_path and os.path.exists(word) else word


def _module_path(words: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    python = find_python(words, Path.cwd(), {**os.environ, **environment})
    if python is None or "module" not in python.entry or python.entry["path0"] is None:
        return {}
    former = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([os.getcwd(), *([former] if former else [])])}


def words_of(command: str, flag: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"{flag}: {error} in {command!r}") from None
    if not words:
        raise UsageError(f"{flag}: an empty command")
    return words


def _program_of(words: tuple[str, ...], kind: Kind) -> tuple[str, ...]:
    """The words that start it: a released server and a Python file that is no program itself are spelt out."""
    first = words[0]
    is_named = first.partition("==")[0] in NAMES or shutil.which(first) is None
    if kind is Kind.DECODER and is_named and "/" not in first:
        return (*find_server(first).argv, *words[1:])
    if first.endswith(".py") and os.path.isfile(first) and not os.access(first, os.X_OK):
        return (sys.executable, *words)
    return words


def environment_of(pairs: Iterable[str], flag: str) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag}: expected NAME=VALUE, got {pair!r}")
        environment[name] = value
    return environment


def refuse_missing_program(build: Build, flag: str) -> None:
    """A command that is not there is the person's mistake, and said before anything is started."""
    program = build.command[0]
    if shutil.which(program, path=build.env.get("PATH")) is None:
        what = "no executable file" if Path(program).exists() else "no such command"
        raise UsageError(f"{flag}: {what}: {program}")


def provenance_of(build: Build) -> Provenance:
    return Provenance(build.command, cwd=Path.cwd(), environment={**os.environ, **build.env})


def contender(build: Build, origin: Mapping[str, Any] | None = None) -> Contender:
    """The build as a series wants it; `origin` says where it was built, and is told beside the fingerprint."""
    return Contender(build.name, build.command, provenance_of(build), origin or {})
