"""Finds the Python program in a command line: which interpreter runs what.

Pure but for looking at files: nothing is started. A console script is a program through its first line;
a wrapper in front (`env`, `taskset -c 0`, `nice`) is stepped over.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_INTERPRETER = re.compile(r"(python|pypy)(\d+(\.\d+)*)?t?$")
_TAKES_VALUE = "XW"
_NO_SCRIPT_FOLDER = "IP"


@dataclass(frozen=True, slots=True)
class PythonProgram:
    """`flags` are the interpreter's own; `entry` is what the module scan is asked about."""

    interpreter: str
    flags: tuple[str, ...]
    entry: Mapping[str, str | None]


def find_python(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> PythonProgram | None:
    for index, word in enumerate(command):
        path = resolve(word, cwd, environment)
        if path is None:
            continue
        if _INTERPRETER.match(Path(word).name):
            return _program(str(path), command[index + 1 :], cwd)
        shebang = _shebang(path)
        if shebang and (interpreter := _from_shebang(shebang, cwd, environment)):
            return _program(interpreter[0], (*interpreter[1:], str(path)), cwd)
        if index == 0 and Path(word).name not in _WRAPPERS:
            return None
    return None


_WRAPPERS = {"env", "nice", "ionice", "taskset", "stdbuf", "setsid", "timeout", "numactl", "prlimit", "time"}


def resolve(word: str, cwd: Path, environment: Mapping[str, str]) -> Path | None:
    """The executable file that `word` starts: a path, or a name looked up on PATH. Links are not followed."""
    if "/" in word:
        path = cwd / word
        return path if path.is_file() and os.access(path, os.X_OK) else None
    found = shutil.which(word, path=environment.get("PATH", os.defpath))
    return Path(found) if found else None


def _shebang(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return []
    return first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []


def _from_shebang(words: list[str], cwd: Path, environment: Mapping[str, str]) -> list[str] | None:
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S" and "=" not in word]
    if not words or not _INTERPRETER.match(Path(words[0]).name):
        return None
    found = resolve(words[0], cwd, environment)
    return [str(found), *words[1:]] if found else None


def _program(interpreter: str, arguments: Sequence[str], cwd: Path) -> PythonProgram | None:
    flags: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word.startswith("--"):
            flags.append(word)
            continue
        for at, letter in enumerate(word[1:], start=1):
            if letter in "mc":
                value = word[at + 1 :] or (rest[0] if rest else "")
                flags += [f"-{word[1:at]}"] if at > 1 else []
                entry = {"module" if letter == "m" else "code": value, "path0": _path0(flags, str(cwd))}
                return PythonProgram(interpreter, tuple(flags), entry)
            if letter in _TAKES_VALUE:
                flags += [word] if word[at + 1 :] else [word, *rest[:1]]
                rest = rest if word[at + 1 :] else rest[1:]
                break
        else:
            flags.append(word)
    if not rest or rest[0] == "-":
        return None
    script = (cwd / rest[0]).resolve()
    return PythonProgram(interpreter, tuple(flags), {"script": str(script), "path0": _path0(flags, str(script.parent))})


def _path0(flags: Sequence[str], folder: str) -> str | None:
    letters = "".join(flag for flag in flags if not flag.startswith(("--", "-X", "-W")))
    return None if any(letter in letters for letter in _NO_SCRIPT_FOLDER) else folder
