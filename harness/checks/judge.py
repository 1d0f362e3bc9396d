"""From what was seen to ok, FAIL or ERROR. The only place that decides, so that nobody can forget the empty case.

An observable says what it saw and where, or why it could not look; an expectation says what is wrong with one
value. Neither judges. A record that was read whole and lacks the thing is a finding: FAIL. A record that is
missing or cut short is ERROR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.result import Status


@dataclass(frozen=True, slots=True)
class Sighting:
    """One value that was seen: where (file and line), and when where that is known (monotonic)."""

    value: Any
    where: str
    t_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A record that was read whole. `what` names it; `values` may be empty."""

    what: str
    values: tuple[Sighting, ...]


@dataclass(frozen=True, slots=True)
class Unseen:
    """A record that is missing or cut short."""

    why: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one observation came to. `where` points at the evidence."""

    status: Status
    detail: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """How many values there have to be."""

    least: int
    most: int | None = None

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        return str(self.least) if self.most == self.least else f"{self.least} to {self.most}"

    def holds(self, number: int) -> bool:
        return number >= self.least and (self.most is None or number <= self.most)


Wrong = Callable[[Sighting], str | None]
"""What is wrong with one value, or None. It may raise `CannotCompare`."""

AT_LEAST_ONE = Count(1)


class CannotCompare(Exception):
    """An expectation that rests on another record, which is missing or cut short."""


def judge(observed: Seen | Unseen, wrong: Wrong, count: Count = AT_LEAST_ONE) -> Result:
    """Every value has to be right, and as many have to be there as `count` says."""
    if isinstance(observed, Unseen):
        return Result(Status.ERROR, observed.why)
    try:
        findings = [(each, finding) for each in observed.values if (finding := wrong(each)) is not None]
    except CannotCompare as error:
        return Result(Status.ERROR, str(error))
    if findings:
        return Result(Status.FAIL, _listed(observed.what, findings), findings[0][0].where)
    number = len(observed.values)
    where = observed.values[0].where if observed.values else ""
    if not observed.values and count == AT_LEAST_ONE:
        return Result(Status.FAIL, f"{observed.what}: not there")
    if not count.holds(number):
        return Result(Status.FAIL, f"{observed.what}: expected {count}, seen {number}", where)
    return Result(Status.OK, f"{observed.what}: {number} looked at", where)


def judge_absence(observed: Seen | Unseen, wrong: Wrong, witness: Result) -> Result:
    """No value may be one that is described. A value seen is FAIL whatever the witness says; none seen is ok only
    if the witness shows that the run got as far as where it would have been.
    """
    if isinstance(observed, Unseen):
        return Result(Status.ERROR, observed.why)
    try:
        seen = [each for each in observed.values if wrong(each) is None]
    except CannotCompare as error:
        return Result(Status.ERROR, str(error))
    if seen:
        return Result(Status.FAIL, f"{observed.what}: expected none, seen {short(seen[0].value)}", seen[0].where)
    if witness.status is not Status.OK:
        return Result(Status.ERROR, f"absence not shown, the witness is missing: {witness.detail}", witness.where)
    return Result(Status.OK, f"{observed.what}: none of {len(observed.values)}, and {witness.detail}", witness.where)


def _listed(what: str, findings: Sequence[tuple[Sighting, str]]) -> str:
    told = "; ".join(finding for _, finding in findings[:_TOLD])
    more = len(findings) - _TOLD
    return f"{what}: {told}" + (f"; and {more} more" if more > 0 else "")


_TOLD = 3
_SHORT = 160


def short(value: object) -> str:
    """A value in one line, cut where it would hide the rest."""
    text = repr(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}… ({len(text)} characters)"
