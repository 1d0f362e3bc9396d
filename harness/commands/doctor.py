"""`kvgate doctor`: what this machine has of what kvgate needs or can use, and what would provide the rest.

exit status: 0 when everything that is needed is there, 3 when not.
"""

from __future__ import annotations

import argparse

from harness.doctor import Need, examine

_MISSING = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__


def run(arguments: argparse.Namespace) -> int:
    status = 0
    for finding in examine():
        word = "ok" if finding.there else "MISSING" if finding.need is Need.NEEDED else "absent"
        print(f"{word:8} {finding.what}: {finding.detail}")
        if not finding.there and finding.remedy:
            print(f"{'':8}   to provide it: {finding.remedy}")
        if not finding.there and finding.need is Need.NEEDED:
            status = _MISSING
    return status
