"""The names of the faults that the fakes can play, as the fakes themselves list them.

The harness meets the fakes as processes only, so it asks: once a process, and only where a scenario names a fault.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import HarnessError

_ASKED_AT_MOST_S = 30


@dataclass(frozen=True, slots=True)
class FaultNames:
    """Fault name to who plays it: `decoder`, `provider` or `engine`."""

    players: Mapping[str, str]


@functools.cache
def known_faults() -> FaultNames:
    command = [sys.executable, "-m", "fakes.faults", "--json"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, timeout=_ASKED_AT_MOST_S)
        faults = json.loads(listed.stdout)
        return FaultNames({str(fault["name"]): str(fault["player"]) for fault in faults})
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise HarnessError(f"the fakes do not list their faults ({' '.join(command)}): {error}") from error
