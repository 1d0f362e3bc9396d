"""A real server by what starts it: a value. It knows how to start one, not that one runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """`argv` plus llama-server's flags starts it. `native`: a binary of somebody's own building.

    `flags` come after all others. `build` is the build's number or what it was built with; `notes` are for the
    reader of a report.
    """

    name: str
    argv: tuple[str, ...]
    version: str
    build: str = ""
    native: bool = False
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
