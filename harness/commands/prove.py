"""`kvgate prove`: see `harness.proof.prove`; here it is given its terminal."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.proof import prove
from reports import outputs, proof_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    prove.add_arguments(parser)
    outputs.add_arguments(parser)
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table as a page of the docs")


def run(arguments: argparse.Namespace) -> int:
    report = outputs.Outputs(arguments)
    result, status = prove.run(arguments, report)
    if arguments.page is not None:
        outputs.write_whole(arguments.page, proof_page.render(result))
    return status
