"""`kvgate flakes`: checks that said ok and FAIL on one and the same build.

exit status: 0 none is known; 1 some are; 3 the history cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from harness.errors import HarnessError
from harness.proof.history import Flake, History, default_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("words", nargs="*", metavar="WORD", help="only those whose suite, scenario or name holds it")
    parser.add_argument("--history", type=Path, metavar="FILE", help="the history's file ($KVGATE_HISTORY unless said)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--forget", action="store_true", help="empty the history")


def run(arguments: argparse.Namespace) -> int:
    history = History(arguments.history or default_file())
    if arguments.history is not None and not history.path.exists():
        raise HarnessError(f"the history {history.path} cannot be read: there is no such file")
    try:
        if arguments.forget:
            print(f"forgot {history.forget()} outcomes in {history.path}")
            return 0
        found = [each for each in history.flakes() if _is_meant(each, arguments.words)]
    except (sqlite3.Error, OSError) as error:
        raise HarnessError(f"the history {history.path} cannot be read: {error}") from None
    if arguments.json:
        print(json.dumps([asdict(each) for each in found], indent=1))
    else:
        print(_table(found) if found else f"no check is known to be unsteady in {history.path}")
    return 1 if found else 0


def _is_meant(flake: Flake, words: Sequence[str]) -> bool:
    return all(word in f"{flake.suite}/{flake.scenario} {flake.check}" for word in words)


def _table(flakes: Sequence[Flake]) -> str:
    rows = [
        (f"{each.suite} / {each.scenario}", each.check, f"{each.red} of {each.runs}", each.build[:12], each.red_folder)
        for each in flakes
    ]
    headers = ("scenario", "check", "red", "build", "last red run")
    widths = [30, 50, None, None, None]
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True, maxcolwidths=widths)
