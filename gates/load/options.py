"""What a campaign is made of, and its command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    """The defaults are the whole campaign; shares are of 1."""

    requests: int = 20_000
    clients: int = 64
    decoders: int = 4
    slots: int = 4
    handed_over: float = 0.05
    leaving: float = 0.01
    streamed: float = 0.5
    kill_every_s: float = 5.0
    """0: nothing is killed."""
    max_tokens: int = 12
    seed: int = 1
    folder: Path | None = None
    """Where logs and journals are kept; none: they are gone afterwards."""


_HELP = {
    "handed_over": "share of prompts that are long enough to be handed over",
    "leaving": "share of clients that leave before their reply has ended",
    "streamed": "share of requests that ask for a stream",
    "kill_every_s": "a decoder is killed and started again so often; 0 for never",
    "folder": "keep logs and journals here",
}


def read(argv: Sequence[str]) -> Options:
    """The options of a command line; ends the program where they make no sense."""
    parser = argparse.ArgumentParser(prog="python -m gates.load", description=__doc__)
    defaults = Options()
    for field in fields(Options):
        default = getattr(defaults, field.name)
        kind = Path if field.name == "folder" else type(default)
        help_ = f"{_HELP.get(field.name, '')} (default {default})".strip()
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=default, help=help_)
    given = Options(**vars(parser.parse_args(argv)))
    if min(given.requests, given.clients, given.decoders, given.slots, given.max_tokens) < 1:
        parser.error("requests, clients, decoders, slots and tokens are at least 1")
    if not all(0 <= share <= 1 for share in (given.handed_over, given.leaving, given.streamed)):
        parser.error("a share is a number from 0 to 1")
    return given
