"""A check and a record into a result. Pure: the same record gives the same results."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace

from harness.checks.journal import lookup_in
from harness.checks.judge import (
    AT_LEAST_ONE,
    CannotCompare,
    Result,
    Seen,
    Sighting,
    Unseen,
    Wrong,
    judge,
    judge_absence,
)
from harness.checks.look import Absent, AllOf, AnyOf, Check, Look, Order
from harness.checks.register import OBSERVABLES
from harness.record import Record
from harness.result import Status, worst


def evaluate(check: Check, record: Record) -> Result:
    """What the record says about the check. An observation that raises is ERROR, with its traceback."""
    try:
        return _evaluate(check, record)
    except Exception:  # noqa: BLE001 - a broken observable must neither pass nor count as red
        return Result(Status.ERROR, f"the observation itself failed:\n{traceback.format_exc()}")


def _evaluate(check: Check, record: Record) -> Result:
    match check:
        case Look():
            return judge(_observe(check, record), _wrong(check, record), check.count or AT_LEAST_ONE)
        case Absent(look, witness):
            return judge_absence(_observe(look, record), _wrong(look, record), _evaluate(witness, record))
        case AllOf(parts):
            return _together([_evaluate(part, record) for part in parts])
        case AnyOf(parts):
            return _best([_evaluate(part, record) for part in parts])
        case Order(looks, within_s):
            return _ordered(looks, within_s, record)


def _observe(look: Look, record: Record) -> Seen | Unseen:
    seen = OBSERVABLES[look.key].observe(record, look, lookup_in(record, look.request))
    if isinstance(seen, Unseen) or look.where is None:
        return seen
    lookup = lookup_in(record, look.request)
    kept = tuple(each for each in seen.values if look.where.wrong(each.value, lookup) is None)
    return Seen(f"{seen.what} (narrowed from {len(seen.values)})", kept)


def _wrong(look: Look, record: Record) -> Wrong:
    lookup = lookup_in(record, look.request)
    observable = OBSERVABLES[look.key]

    def wrong(sighting: Sighting) -> str | None:
        finding = observable.wrong(look.expected, sighting.value, lookup)
        return _too_late(look, record, sighting) if finding is None else finding

    return wrong


def _too_late(look: Look, record: Record, sighting: Sighting) -> str | None:
    if look.within_s is None:
        return None
    if sighting.t_ns is None:
        raise CannotCompare(f"{look.key} says nothing of when it happened")
    sent = next(e.reply.timings.sent_ns for e in record.exchanges if look.request in (None, e.name))
    took = (sighting.t_ns - sent) / 1e9
    return None if took <= look.within_s else f"expected within {look.within_s:g} s, seen after {took:.3f} s"


def _together(results: Sequence[Result]) -> Result:
    status = worst(result.status for result in results)
    told = [result for result in results if result.status is status] if status is not Status.OK else results
    return Result(status, "; ".join(result.detail for result in told), told[0].where if told else "")


def _best(results: Sequence[Result]) -> Result:
    held = next((result for result in results if result.status is Status.OK), None)
    if held is not None:
        return held
    status = Status.ERROR if any(result.status is Status.ERROR for result in results) else Status.FAIL
    return Result(status, "none of these: " + "; ".join(result.detail for result in results), results[0].where)


def _ordered(looks: Sequence[Look], within_s: float | None, record: Record) -> Result:
    found: list[tuple[Look, Seen]] = []
    for look in looks:
        seen = _observe(look, record)
        single = judge(seen, _wrong(look, record), look.count or AT_LEAST_ONE)
        if single.status is not Status.OK or isinstance(seen, Unseen):
            return single
        found.append((look, seen))
    return _in_order([(look.key, seen.values) for look, seen in found], within_s)


def _in_order(steps: Sequence[tuple[str, tuple[Sighting, ...]]], within_s: float | None) -> Result:
    for (before, earlier), (after, later) in itertools.pairwise(steps):
        last, first = _times(earlier)[-1], _times(later)[0]
        if last >= first:
            ms = (last - first) / 1e6
            detail = f"expected {before} before {after}, but it came {ms:.3f} ms after it"
            return Result(Status.FAIL, detail, later[0].where)
        if within_s is not None and first - last > within_s * 1e9:
            took = (first - last) / 1e9
            detail = f"expected {after} within {within_s:g} s of {before}, seen after {took:.3f} s"
            return Result(Status.FAIL, detail, later[0].where)
    told = ", then ".join(key for key, _ in steps)
    return Result(Status.OK, f"{told}: in this order", steps[0][1][0].where)


def _times(sightings: Iterable[Sighting]) -> list[int]:
    times = [each.t_ns for each in sightings]
    if None in times:
        raise CannotCompare("a step of the order says nothing of when it happened")
    return sorted(time for time in times if time is not None)


def unobserved(result: Result, why: str) -> Result:
    """The same check where the run as a whole cannot be trusted: ERROR, with what was found kept in the text."""
    return replace(result, status=Status.ERROR, detail=f"{why} (it said {result.status}: {result.detail})")
