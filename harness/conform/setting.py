"""With which flags a decoder is started, so that every clause has what it needs and few starts are enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

KEYS = ("first-key", "second-key")
PREFIX = "/below"
OWN = "process"
"""The setting of clauses about starting and ending: they start their own processes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """llama-server flags; `{folder}` is the folder of slot files. `headers` and `prefix` go with every request."""

    flags: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    def words(self, folder: Path) -> tuple[str, ...]:
        return tuple(word.format(folder=folder) for word in self.flags)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SETTINGS: dict[str, Setting] = {
    "plain": Setting(
        _words("-np 2 -c 2048 --cache-ram 0 --slot-save-path {folder} --metrics --props -a conform"),
    ),
    "keys": Setting(
        _words(f"-np 1 -c 512 -b 64 --no-slots --api-key {KEYS[0]},{KEYS[1]} -a zeta,alpha"),
        headers={"Authorization": f"Bearer {KEYS[0]}"},
    ),
    "auto": Setting(_words("-c 1024 --slot-save-path {folder}")),
    "ram": Setting(_words("-np 2 -c 2048 --cache-ram 100 --slot-save-path {folder}")),
    "defaults": Setting(
        _words(
            "-np 2 -c 32 --cache-ram 0 -n 3 --temp 0.5 -s 7 --ignore-eos --no-cache-prompt -sps 0"
            f" --api-prefix {PREFIX} --cors-origins http://a.example --cors-methods GET --cors-headers X-A"
            " --context-shift"
        ),
        prefix=PREFIX,
    ),
}
"""`plain` is what a router starts. Slots without files, several aliases, keys, a cache for all slots, a cache in the
host's memory and changed defaults have a process each."""
