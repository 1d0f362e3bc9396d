"""`python -m fakes.faults`: the fault catalogue for people (a table, `--explain NAME`) and programs (`--json`)."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Sequence
from typing import Any

from fakes.catalogue import catalogue
from fakes.fault import Fault
from fakes.near import near

USAGE = "usage: python -m fakes.faults [--json | --explain NAME]"


def description(fault: Fault) -> str:
    """The fault's own words, as written in the docstring of its function."""
    return inspect.cleandoc(fault.play.__doc__ or "")


def as_json(fault: Fault) -> dict[str, Any]:
    """One fault for programs."""
    return {
        "name": fault.name,
        "player": fault.point.who,
        "point": fault.point.value,
        "variable": fault.variable,
        "value": None if fault.value is None else {"means": fault.value.means, "default": str(fault.value.default)},
        "description": description(fault),
        "reports": list(fault.reports),
    }


def table(faults: Sequence[Fault]) -> str:
    """One line for each fault."""
    rows = [("fault", "played by", "point", "value (default)")]
    rows += [(fault.name, fault.point.who, fault.point.value, _value(fault)) for fault in faults]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) for row in rows
    )


def _value(fault: Fault) -> str:
    return "" if fault.value is None else f"{fault.value.means} ({fault.value.default})"


def explain(fault: Fault) -> str:
    """All there is to say about one fault."""
    lines = [f"{fault.name}, played by the {fault.point.who} at {fault.point.value}", "", description(fault), ""]
    if fault.value is not None:
        lines.append(f"value: {fault.value.means}, {fault.value.default} where none is given")
    lines.append(f"set by --fault {fault.name}, or {fault.variable} in the environment")
    if fault.reports:
        lines.append(f"stands for {', '.join(fault.reports)}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status; 2 for a wrong command line or an unknown name."""
    words = sys.argv[1:] if argv is None else list(argv)
    known = catalogue()
    match words:
        case []:
            print(table(list(known.values())))
        case ["--json"]:
            print(json.dumps([as_json(fault) for fault in known.values()], indent=1))
        case ["--explain", name] if name in known:
            print(explain(known[name]))
        case ["--explain", name]:
            print(f"no fault is called {name!r}{near(name, known)}", file=sys.stderr)
            return 2
        case _:
            print(USAGE, file=sys.stderr)
            return 2
    return 0
