"""A router that follows a link where it expects a lock of its own, and sweeps what it leads to."""

import os
import stat
from pathlib import Path

from gates.mutants._in_gates import stand_in
from router import private_files
from router.cli import main

REPLACES = "harness"
TESTS = ("gates/test_router_security.py::test_links_that_somebody_planted_are_not_followed",)


def open_anything(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None


def remove(path: Path) -> bool:
    target = path.resolve()
    if target.is_dir():
        for each in target.iterdir():
            each.unlink()
    elif stat.S_ISREG(target.stat().st_mode):
        target.unlink()
    return True


def mutate() -> None:
    private_files._open_unheld = open_anything
    private_files._remove = remove


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
