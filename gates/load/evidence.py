"""What a campaign leaves to be judged, read from where it arose: clients, the router's log and metrics, journals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gates.load.clients import Seen
from gates.load.options import Options


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything the judge looks at. Bytes are of the router's resident memory."""

    options: Options
    seen: list[Seen]
    log: list[dict[str, Any]]
    metrics: Mapping[str, float]
    journals: Mapping[str, list[dict[str, Any]]]
    kills: int
    memory: Mapping[int, int]
    """After so many requests."""
    left: list[str]
    """Descriptors, sockets, files and processes that outlived what needed them."""
    exit_status: int | None
    wall_s: float = 0.0
    endings: dict[str, dict[str, Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.endings.update((line["request_id"], line) for line in self.ended_lines)

    @property
    def ended_lines(self) -> list[dict[str, Any]]:
        """The line that each request ends with."""
        return [line for line in self.log if "outcome" in line]

    def total(self, name: str, **labels: str) -> float:
        """The sum of a metric over the labels that are not given."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return sum(
            value
            for series, value in self.metrics.items()
            if series.partition("{")[0] == name and all(each in series for each in wanted)
        )


def read_metrics(text: str) -> dict[str, float]:
    """Prometheus' text: each series as it is written, with its value."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            found[series] = float(value)
    return found


def read_journals(paths: Iterable[Path]) -> dict[str, list[dict[str, Any]]]:
    """By file. A decoder that was killed may have left its last line cut."""
    return {path.name: list(_entries(path)) for path in paths}


def _entries(path: Path) -> Iterable[dict[str, Any]]:
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return
