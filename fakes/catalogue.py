"""Every fault there is: the sorted listing of `fakes/faults/`, where each module names its own in `FAULTS`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import fakes.faults
from fakes.fault import Fault


def catalogue() -> dict[str, Fault]:
    """The faults by name, in the order of their names."""
    found: dict[str, Fault] = {}
    for module in sorted(info.name for info in iter_modules(fakes.faults.__path__) if info.name != "__main__"):
        for fault in import_module(f"fakes.faults.{module}").FAULTS:
            if fault.name in found:
                raise LookupError(f"two faults are called {fault.name}")
            found[fault.name] = fault
    return dict(sorted(found.items()))


def faults_of(who: str) -> dict[str, Fault]:
    """The faults that a `decoder` or a `provider` plays."""
    return {name: fault for name, fault in catalogue().items() if fault.point.who == who}
