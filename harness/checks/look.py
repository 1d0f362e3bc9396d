"""Checks as values: what a scenario's check says, parsed. And what an observable is.

A check is one look at one observable, or several put together. `harness.checks.evaluate` turns it into a
result; this module knows no record's contents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.checks.expectation import FieldsAre, Lookup
from harness.checks.judge import Count, Seen, Unseen
from harness.record import Record
from harness.shapes import Shape


@dataclass(frozen=True, slots=True)
class Look:
    """One observable and what it has to be.

    `where` narrows what is looked at, `request` to one request's own, `within_s` bounds the time from that
    request's sending to the sighting.
    """

    key: str
    expected: Any
    count: Count | None = None
    where: FieldsAre | None = None
    request: str | None = None
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """Each look's last sighting lies before the next look's first, and at most `within_s` later where that is said."""

    looks: tuple[Look, ...]
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    look: Look
    witness: Check


Check = Look | AllOf | AnyOf | Order | Absent


@dataclass(frozen=True, slots=True)
class Observable:
    """Something that can be looked at.

    `observe` gives every candidate, `wrong` says what is wrong with one; neither judges. `fields` are the names
    that `where` may use; `timed` says that sightings carry a time.
    """

    key: str
    means: str
    shape: Shape[Any]
    observe: Callable[[Record, Look, Lookup], Seen | Unseen]
    wrong: Callable[[Any, Any, Lookup], str | None]
    fields: tuple[str, ...] = ()
    timed: bool = False
