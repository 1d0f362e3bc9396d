"""Every observable there is, by its key."""

from __future__ import annotations

from harness.checks import did, exits, files, journal, log, metrics, parity, reply, slots, steps, stream, timing
from harness.checks.look import Observable

_UNITS = (reply, parity, timing, stream, log, journal, files, slots, metrics, exits, steps, did)

OBSERVABLES: dict[str, Observable] = {each.key: each for unit in _UNITS for each in unit.OBSERVABLES}
