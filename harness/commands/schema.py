"""`kvgate schema`: the JSON Schema of a scenario file, for editors and other tools."""

from __future__ import annotations

import argparse

from harness import schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__


def run(arguments: argparse.Namespace) -> int:
    print(schema.text(), end="")
    return 0
