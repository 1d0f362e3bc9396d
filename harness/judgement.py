"""A scenario and the record of its run into a result. Pure.

On top of the checks themselves stand four rules: a declared fault whose point was reached has to have fired; an
absence proves nothing where the fault was never reached; a run that could not be made or trusted is ERROR as a whole;
what is known to be red must stay red until its reason is taken out of the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.checks.evaluate import evaluate, unobserved
from harness.checks.judge import Result
from harness.checks.look import Absent, AllOf, AnyOf, Check
from harness.checks.shape import NamedCheck
from harness.profiles import Build
from harness.record import Record
from harness.result import CheckResult, Status
from harness.scenario import Scenario

Judged = tuple[NamedCheck, Result]


def judge_all(
    scenario: Scenario, build: Build, record: Record, errors: Sequence[str], wanted: frozenset[str] | None = None
) -> tuple[CheckResult, ...]:
    """Every check of the scenario, or those `wanted`, in the file's order."""
    named = [each for each in scenario.checks if wanted is None or each.name in wanted]
    if errors:
        judged = [(each, Result(Status.ERROR, errors[0])) for each in named]
    else:
        judged = _conditions(scenario, record, [(each, evaluate(each.check, record)) for each in named])
    if scenario.known_red:
        judged = _known_red(scenario.known_red, judged)
    return tuple(_result(scenario, build, each, result) for each, result in judged)


def skipped(
    scenario: Scenario, build: Build, why: str, wanted: frozenset[str] | None = None
) -> tuple[CheckResult, ...]:
    """Every check skipped for one reason."""
    named = [each for each in scenario.checks if wanted is None or each.name in wanted]
    return tuple(_result(scenario, build, each, Result(Status.SKIP, why)) for each in named)


def _result(scenario: Scenario, build: Build, named: NamedCheck, result: Result) -> CheckResult:
    return CheckResult(
        scenario.suite, scenario.name, named.name, build.name, result.status, result.detail, result.where
    )


def _conditions(scenario: Scenario, record: Record, judged: list[Judged]) -> list[Judged]:
    silent = faults_that_did_not_fire(record)
    if silent:
        return [(each, unobserved(result, silent[0])) for each, result in judged]
    unreached = faults_never_reached(scenario, record)
    if not unreached:
        return judged
    why = f"the fault {unreached[0]} was never reached, so nothing absent proves anything"
    return [
        (each, unobserved(result, why) if result.status is Status.OK and _has_absence(each.check) else result)
        for each, result in judged
    ]


def _counts(record: Record) -> dict[str, tuple[int, int]]:
    """Fault to how often it was reached and fired, over all processes that ended."""
    counts: dict[str, tuple[int, int]] = {}
    for journal in record.journals.values():
        for event in journal.events:
            if event.event != "end":
                continue
            for name, told in (event.fields.get("faults") or {}).items():
                reached, fired = counts.get(name, (0, 0))
                counts[name] = (reached + int(told["reached"]), fired + int(told["fired"]))
    return counts


def faults_that_did_not_fire(record: Record) -> list[str]:
    """Faults that were reached and never fired, or fired and changed nothing."""
    found = [
        f"the fault {name} was reached {reached} times and never fired"
        for name, (reached, fired) in _counts(record).items()
        if reached > 0 and fired == 0
    ]
    return found + [
        f"the fault {event.fields.get('name')} fired and changed nothing ({journal.where(event)})"
        for journal in record.journals.values()
        for event in journal.events
        if event.event == "fault_no_effect"
    ]


def faults_never_reached(scenario: Scenario, record: Record) -> list[str]:
    """Declared faults at whose point the run never arrived."""
    provider = scenario.provider.faults if scenario.provider is not None else ()
    prefill = scenario.prefill.faults if scenario.prefill is not None else ()
    engines = [fault for spec in (scenario.engine, *scenario.fake_engines.values()) for fault in spec.faults]
    faults = (*scenario.decoder.faults, *prefill, *provider, *engines)
    declared = [fault.split("=")[0].split(",")[0] for fault in faults]
    counts = _counts(record)
    return [name for name in declared if counts.get(name, (0, 0))[0] == 0]


def _has_absence(check: Check) -> bool:
    match check:
        case Absent():
            return True
        case AllOf(parts) | AnyOf(parts):
            return any(_has_absence(part) for part in parts)
        case _:
            return False


def _known_red(reason: str, judged: list[Judged]) -> list[Judged]:
    """Red as known is a skip with its reason; if nothing is red any more, that is the finding."""
    if any(result.status is Status.FAIL for _, result in judged):
        return [
            (each, Result(Status.SKIP, f"known red: {reason} ({result.detail})", result.where))
            if result.status is Status.FAIL
            else (each, result)
            for each, result in judged
        ]
    if any(result.status is Status.ERROR for _, result in judged):
        return judged
    why = f"this scenario is known to be red ({reason}), and nothing is: take `known_red` out of the file"
    return [(each, Result(Status.FAIL, why, result.where)) for each, result in judged]
