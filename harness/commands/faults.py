"""`kvgate faults`: the fakes' own list of what they can do wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "fakes.faults", *words])
