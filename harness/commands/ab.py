"""`kvgate ab`: see `harness.proof.ab`; here it is given its terminal."""

from __future__ import annotations

import argparse

from harness.proof import ab
from reports import outputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    ab.add_arguments(parser)
    outputs.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return ab.run(arguments, outputs.Outputs(arguments))
