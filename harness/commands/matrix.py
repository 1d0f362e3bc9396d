"""`kvgate matrix`: see `harness.proof.matrix`; here it is given its terminal."""

from __future__ import annotations

import argparse

from harness.proof import matrix
from reports import outputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    matrix.add_arguments(parser)
    outputs.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return matrix.run(arguments, outputs.Outputs(arguments))
