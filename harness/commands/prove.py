"""`kvgate prove`: see `harness.proof.prove`; here it is given its terminal."""

from __future__ import annotations

import argparse

from harness.proof import prove
from reports import outputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    prove.add_arguments(parser)
    outputs.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return prove.run(arguments, outputs.Outputs(arguments))
