"""`kvgate report RUN`: shows the result of a run again, or in another form, from its folder or its JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.result import RunResult
from reports import json_file, outputs

RESULT = "result.json"
DESCRIPTION = """Shows the result of a run from its folder or its JSON file, partial ones included.

exit status: that of the run itself; 2 where there is no result to show."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder or a result's JSON file")
    outputs.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        result = load(arguments.run)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"kvgate report: {arguments.run}: {_reason(arguments.run, error)}\n")
        return 2
    return outputs.Outputs(arguments).show(result)


def _reason(path: Path, error: OSError | ValueError) -> object:
    match error:
        case FileNotFoundError() if path.is_dir():
            return f"there is no {RESULT} in this folder; the folder of a run has one"
        case OSError():
            return error.strerror
        case UnicodeDecodeError():
            return "this is no text, and so no result of kvgate"
        case _:
            return error


def load(path: Path) -> RunResult:
    """The result in a folder or file. OSError where there is none, ValueError where it is something else."""
    return json_file.read((path / RESULT if path.is_dir() else path).read_text("utf-8"))
