"""The result as JUnit XML: one case for each check, for the test view of a CI system.

Of a run a case is what its check said. Of a comparison a case is the verdict on the check: a fixed one passes,
since red on old is what was wanted; broken, red on both and unstable fail, error is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree as xml

from harness.result import LEFT_BEHIND, CheckVerdict, Comparison, RunResult, ScenarioResult, Status

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OUTCOME = {
    CheckVerdict.BROKEN: "failure",
    CheckVerdict.RED_ON_BOTH: "failure",
    CheckVerdict.UNSTABLE: "failure",
    CheckVerdict.ERROR: "error",
    CheckVerdict.SKIPPED: "skipped",
    CheckVerdict.UNPROVEN: "failure",
}
_STATUS_OUTCOME = {Status.FAIL: "failure", Status.ERROR: "error", Status.SKIP: "skipped"}


@dataclass(frozen=True, slots=True)
class _Case:
    suite: str
    scenario: str
    name: str
    outcome: str | None
    message: str
    text: str
    time_s: float = 0.0


def render(result: RunResult) -> str:
    cases = list(_compared(result) if result.comparisons else _listed(result.scenarios))
    root = xml.Element("testsuites", _figures(cases) | {"name": f"kvgate {result.kind}"})
    for suite in dict.fromkeys(case.suite for case in cases):
        own = [case for case in cases if case.suite == suite]
        element = xml.SubElement(root, "testsuite", _figures(own) | {"name": _legal(suite)})
        if result.started_at:
            element.set("timestamp", result.started_at)
        element.extend(_element(case) for case in own)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _listed(scenarios: Iterable[ScenarioResult]) -> Iterable[_Case]:
    for scenario in scenarios:
        # The checks of a scenario share one run: its time is given once, so that sums stay true.
        time_s = scenario.duration_s
        for check in scenario.checks:
            outcome = _STATUS_OUTCOME.get(check.status)
            text = "\n".join(filter(None, (check.detail, check.where and f"in {check.where}", scenario.rerun)))
            first = check.detail.split("\n", 1)[0]
            yield _Case(check.suite, check.scenario, check.check, outcome, first, text, time_s)
            time_s = 0.0
        if scenario.left_behind:
            text = "\n".join(scenario.left_behind)
            yield _Case(scenario.suite, scenario.scenario, LEFT_BEHIND, "failure", scenario.left_behind[0], text)


def _compared(result: RunResult) -> Iterable[_Case]:
    for each in result.comparisons:
        outcome = _OUTCOME.get(each.verdict)
        answers = ", ".join(f"{build}: {tally.word}" for build, tally in each.tallies.items())
        text = "\n".join([answers, *_details(result, each)])
        yield _Case(each.suite, each.scenario, each.check, outcome, f"{each.verdict} ({answers})", text)


def _details(result: RunResult, compared: Comparison) -> Iterable[str]:
    identity = (compared.suite, compared.scenario, compared.check)
    for check in result.checks:
        if (check.suite, check.scenario, check.check) == identity and check.status is not Status.OK:
            yield f"{check.build}: {check.status}: {check.detail}"


def _figures(cases: list[_Case]) -> dict[str, str]:
    def count(outcome: str) -> str:
        return str(sum(case.outcome == outcome for case in cases))

    return {
        "tests": str(len(cases)),
        "failures": count("failure"),
        "errors": count("error"),
        "skipped": count("skipped"),
        "time": f"{sum(case.time_s for case in cases):.3f}",
    }


def _element(case: _Case) -> xml.Element:
    values = {"classname": _legal(f"{case.suite}.{case.scenario}"), "name": _legal(case.name)}
    element = xml.Element("testcase", values | {"time": f"{case.time_s:.3f}"})
    if case.outcome is not None:
        finding = xml.SubElement(element, case.outcome, {"message": _legal(case.message)})
        if case.outcome != "skipped":
            finding.text = _legal(case.text)
    return element


def _legal(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
