"""Counting across processes: a provider is another process each time, and its faults are still limited to the n-th.

The count stands in a file beside the journal, which all of them share.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable


def turns(journal: str) -> Callable[[str], int]:
    """Says the how-manieth time it is asked for a name, from 1 on, whichever process asks. OSError as it comes."""
    path = f"{journal}.turns"

    def turn(name: str) -> int:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        with open(fd, "r+b") as file:
            fcntl.flock(fd, fcntl.LOCK_EX)
            counted: dict[str, int] = json.loads(file.read() or b"{}")
            counted[name] = counted.get(name, 0) + 1
            file.seek(0)
            file.write(json.dumps(counted).encode())
            file.truncate()
        return counted[name]

    return turn
