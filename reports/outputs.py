"""Where a command's findings go: the terminal, the files that were asked for, and the page in the run folder."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from harness.result import RunResult
from reports import html, json_file, junit, markdown, terminal
from reports.progress import Progress

PAGE = "index.html"
NOT_WRITTEN = 3
_FORMATS: dict[str, tuple[Callable[[RunResult], str], str]] = {
    "json": (json_file.render, "the result as JSON"),
    "junit": (junit.render, "JUnit XML, one case for each check"),
    "markdown": (markdown.render, "a table for a pull request"),
    "html": (html.render, "one page with a timeline for each scenario"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    for name, (_, what) in _FORMATS.items():
        group.add_argument(f"--{name}", type=_file, metavar="FILE", help=f"write {what}; - writes to standard output")
    group.add_argument("--quiet", action="store_true", help="show neither progress nor report")


def _file(text: str) -> Path:
    """A place that can be written as far as can be seen before anything has run."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder")
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.absolute().parent}")
    return path


class Outputs:
    """Progress on standard error, the result on standard output, and files; a file asked for as `-` is all there is."""

    def __init__(self, arguments: argparse.Namespace, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._files = {name: getattr(arguments, name) for name in _FORMATS if getattr(arguments, name) is not None}
        self._quiet = arguments.quiet or any(str(path) == "-" for path in self._files.values())
        self._out, self._err = out or sys.stdout, err or sys.stderr
        self._progress: Progress | None = None

    def listener(self, total: int) -> Progress:
        self._progress = Progress(self._err, total, quiet=self._quiet)
        return self._progress

    def show(self, result: RunResult) -> int:
        """The exit status. What cannot be written is said in one line each, and a good result then ends with 3.

        Whoever asked for a file goes by that file, and would take an older one for this run's.
        """
        if self._progress is not None:
            self._progress.finished()
        if not self._quiet:
            self._out.write(terminal.render(result, terminal.on(self._out)))
        written = [self._put(path, _FORMATS[name][0](result)) for name, path in self._files.items()]
        if result.folder and os.path.isdir(result.folder):
            self._put(Path(result.folder) / PAGE, html.render(result))
        self._out.flush()
        return result.verdict.exit_status or (0 if all(written) else NOT_WRITTEN)

    def _put(self, path: Path, text: str) -> bool:
        if str(path) == "-":
            self._out.write(text)
            return True
        try:
            write_whole(path, text)
        except OSError as error:
            self._err.write(f"kvgate: cannot write {path}: {error.strerror}\n")
            return False
        return True


def write_whole(path: Path, text: str) -> None:
    """Writes beside `path` and moves it there, so that no reader sees half of it. Not for devices and pipes."""
    if path.exists() and not path.is_file():
        path.write_text(text, "utf-8", "backslashreplace")
        return
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        beside.write_text(text, "utf-8", "backslashreplace")
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise
