"""`python -m fakes.faults`: the fault catalogue for people (a table, `--explain NAME`) and programs (`--json`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from fakes.catalogue import catalogue, faults_of
from fakes.fault import Fault
from fakes.near import near
from fakes.told import description, family

USAGE = """usage: kvgate faults [decoder | provider | engine]   what the fakes can do wrong, a line for each
       kvgate faults --explain NAME                  all there is to say about one
       kvgate faults --json                          the same for programs"""
_PLAYERS = ("decoder", "provider", "engine")


def as_json(fault: Fault) -> dict[str, Any]:
    """One fault for programs."""
    return {
        "name": fault.name,
        "player": fault.point.who,
        "point": fault.point.value,
        "family": family(fault)[0],
        "variable": fault.variable,
        "value": None if fault.value is None else {"means": fault.value.means, "default": _default(fault)},
        "description": description(fault),
        "reports": list(fault.reports),
    }


def table(faults: Sequence[Fault]) -> str:
    """One line for each fault."""
    rows = [("fault", "point", "value (default)")]
    rows += [(fault.name, fault.point.value, _value(fault)) for fault in faults]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[2]]) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _value(fault: Fault) -> str:
    if fault.value is None:
        return ""
    return fault.value.means if fault.value.default is None else f"{fault.value.means} ({fault.value.default})"


def _default(fault: Fault) -> str | None:
    return None if fault.value is None or fault.value.default is None else str(fault.value.default)


def explain(fault: Fault) -> str:
    """All there is to say about one fault."""
    lines = [f"{fault.name}, played by the {fault.point.who} at {fault.point.value}", "", description(fault), ""]
    if fault.value is not None:
        left_out = "cannot be left out" if fault.value.default is None else f"{fault.value.default} where none is given"
        lines.append(f"value: {fault.value.means}; {left_out}")
    lines.append(f"set by --fault {fault.name}, or {fault.variable} in the environment")
    if fault.reports:
        lines.append(f"stands for {', '.join(fault.reports)}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status; 2 for a wrong command line or an unknown name, 3 where the list cannot be written."""
    try:
        status = _main(argv)
        sys.stdout.flush()
        return status
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # whoever reads has seen enough, as `head` does
            return 0
        print(f"faults: the list cannot be written: {error.strerror}", file=sys.stderr)
        return 3


def _main(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    known = catalogue()
    match words:
        case []:
            print(table(list(known.values())))
        case [who] if who in _PLAYERS:
            print(table(list(faults_of(who).values())))
        case ["-h" | "--help"]:
            print(USAGE)
        case ["--json"]:
            print(json.dumps([as_json(fault) for fault in known.values()], indent=1))
        case ["--explain", name] if name in known:
            print(explain(known[name]))
        case ["--explain", name]:
            print(f"no fault is called {name!r}{near(name, known)}", file=sys.stderr)
            return 2
        case [word] if not word.startswith("-"):
            print(f"no fake is called {word!r}{near(word, _PLAYERS)}", file=sys.stderr)
            return 2
        case _:
            print(USAGE, file=sys.stderr)
            return 2
    return 0
