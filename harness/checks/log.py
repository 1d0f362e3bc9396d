"""`log.contains`, `log.matches`: lines that the build under test wrote; `decoder.log.*` and others likewise.

What a log says proves only that it was said.
"""

from __future__ import annotations

from typing import Any

from harness.checks.expectation import Lookup
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Record
from harness.shapes import Regex, Shape, Text


def _lines(record: Record, who: str, what: str, fits: Any) -> Seen | Unseen:
    log = record.logs.get(who)
    if log is None:
        return Unseen(f"this run has no {who} that writes a log")
    if log.incomplete:
        return Unseen(log.incomplete)
    found = ((number, line) for number, line in enumerate(log.lines, start=1) if fits(line))
    sightings = tuple(Sighting(line, f"{log.path.name}:{number}") for number, line in found)
    return Seen(f"{what} in {len(log.lines)} lines of {log.path.name}", sightings)


def _nothing_wrong(expected: Any, value: Any, lookup: Lookup) -> str | None:
    return None


def _contains(who: str, prefix: str) -> Observable:
    def observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
        return _lines(record, who, repr(look.expected), lambda line: look.expected in line)

    shape: Shape[Any] = Text(means="the text to find")
    return Observable(f"{prefix}.contains", f"lines of the {who}'s log with this text", shape, observe, _nothing_wrong)


def _matches(who: str, prefix: str) -> Observable:
    def observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
        return _lines(record, who, f"/{look.expected.pattern}/", look.expected.search)

    means = f"lines of the {who}'s log that match"
    return Observable(f"{prefix}.matches", means, Regex(), observe, _nothing_wrong)


OBSERVABLES = tuple(
    make(who, prefix)
    for who, prefix in (("build", "log"), ("decoder", "decoder.log"), ("prefill", "prefill.log"))
    for make in (_contains, _matches)
)
