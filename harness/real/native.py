"""A native llama-server: named by a path, by a command, by `LLAMA_SERVER`, or found on PATH."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.real.errors import ServerMissing, UnknownServer
from harness.real.server import Server

VARIABLE = "LLAMA_SERVER"
BINARY = "llama-server"
VERSION_DEADLINE_S = 60.0


def from_environment() -> Server | None:
    """The server that `LLAMA_SERVER` names; a name that leads nowhere is an error, not a reason to take another."""
    named = os.environ.get(VARIABLE)
    return from_command(named, f"{VARIABLE} names") if named else None


def from_path() -> Server | None:
    found = shutil.which(BINARY)
    return _server((found,)) if found else None


def from_command(command: str, who: str = "") -> Server:
    """A path (spaces and all), or a command with arguments. `who` names it, for the error."""
    try:
        words = [command] if Path(command).expanduser().is_file() else shlex.split(command)
    except ValueError as err:
        raise UnknownServer(f"{command!r} is no command: {err}") from err
    found = shutil.which(os.path.expanduser(words[0])) if words else None
    if found is None:
        what = "is no executable file" if words and Path(words[0]).exists() else "is not there"
        named = f"{who} {command!r}, which" if who else repr(command)
        raise ServerMissing(f"{named} {what}", f"{VARIABLE}=/path/to/{BINARY}")
    return _server((found, *words[1:]))


def from_binary(path: Path) -> Server:
    return _server((str(path),))


def _server(argv: Sequence[str]) -> Server:
    version, build = _version(argv)
    return Server(name=Path(argv[0]).name, argv=tuple(argv), version=version, build=build, native=True)


def _version(argv: Sequence[str]) -> tuple[str, str]:
    """What `--version` says: `version: 11434 (abcdef)`, then what it was built with."""
    try:
        done = subprocess.run(
            [*argv, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_DEADLINE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        raise ServerMissing(f"{argv[0]} does not run ({err})", f"{VARIABLE}=/path/to/{BINARY}") from err
    said = done.stderr + done.stdout
    number = re.search(r"^version: *(\S+)(?: \(([^)]*)\))?", said, re.MULTILINE)
    built = re.search(r"^built with (.*)$", said, re.MULTILINE)
    version = f"{number[1]} ({number[2]})" if number and number[2] else (number[1] if number else "unknown")
    return version, built[1] if built else ""
