"""Builds under test as they are given on a command line: a command, its environment, its profile."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from harness import profiles
from harness.errors import UsageError
from harness.profiles import Build
from harness.proof.provenance import Provenance
from harness.proof.series import Contender
from harness.scenario import Kind


def build_of(
    name: str, command: str, *, kind: Kind, profile: str | None = None, env: Iterable[str] = (), said_by: str = ""
) -> Build:
    """A build from what was typed. UsageError names `said_by`, the flag that it was typed for."""
    flag = said_by or f"--{name}"
    found = profiles.named(profile) if profile is not None else profiles.default_profile(kind)
    if found.kind is not kind:
        raise UsageError(f"the profile {found.name} starts a {found.kind}, the scenarios put a {kind} under test")
    return Build(name, words_of(command, flag), found, environment_of(env, f"{flag}-env"))


def words_of(command: str, flag: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"{flag}: {error} in {command!r}") from None
    if not words:
        raise UsageError(f"{flag}: an empty command")
    return words


def environment_of(pairs: Iterable[str], flag: str) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag}: expected NAME=VALUE, got {pair!r}")
        environment[name] = value
    return environment


def contender(build: Build) -> Contender:
    environment = {**os.environ, **build.env}
    return Contender(build.name, build.command, Provenance(build.command, cwd=Path.cwd(), environment=environment))
