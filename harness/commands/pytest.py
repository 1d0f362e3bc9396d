"""`kvgate pytest`: the same scenarios as pytest items, one a check, with a build of your own.

    kvgate pytest ./kv-scenarios --router CMD --profile ./my-router.yaml -- -n 2 --junitxml=kv.xml

What stands behind `--` is pytest's. exit status: pytest's own (0 all passed, 1 some failed, 2 interrupted, 3 internal
error, 4 usage, 5 nothing was collected).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from harness.commands.parser import Parser
from harness.scenario import Kind
from harness.selection import paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="files, folders or suites; all unless said")
    for kind in Kind:
        parser.add_argument(f"--{kind}", metavar="CMD", help=f"the command that starts the {kind} under test")
    parser.add_argument("--profile", metavar="FILE", help="how the build is started")
    parser.add_argument("--real", action="store_true", help="a real server or model that is missing is an error")


def main(words: Sequence[str]) -> int:
    own, more = list(words), []
    if "--" in own:
        at = own.index("--")
        own, more = own[:at], own[at + 1 :]
    parser = Parser("kvgate pytest")
    add_arguments(parser)
    asked = pytest_words(parser.checked(own), more)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *asked])


def pytest_words(arguments: argparse.Namespace, more: Sequence[str]) -> list[str]:
    """pytest's command line for these arguments."""
    words = ["-p", "harness.pytest_plugin", "--import-mode=importlib", "--dist=loadgroup"]
    for name in (*map(str, Kind), "profile"):
        if (value := getattr(arguments, name)) is not None:
            words.append(f"--kvgate-{name}={value}")
    if arguments.real:
        words.append("--real")
    return [*words, *more, *map(str, paths(arguments.scenarios))]
