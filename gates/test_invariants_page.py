"""docs/invariants.md is of these suites and these mutants: nothing in it is out of date, and nothing is missing."""

import re

import pytest

from gates.invariants import PAGE, ROOT, invariants, scenarios_of
from gates.reports import REPORTS
from harness.proof.mutants import find_mutants
from harness.selection import select

ROW = re.compile(r"^\| `(?P<scenario>[a-z0-9_]+)` \| (?P<check>.+) \| (?P<red>`.+`) \|$", re.M)
SUITES = ("router_invariants", "router_reports")


@pytest.fixture(scope="module")
def rows():
    return [
        (row["scenario"], row["check"], re.findall("`([^`]+)`", row["red"])) for row in ROW.finditer(PAGE.read_text())
    ]


def test_every_invariant_has_a_scenario_and_stands_on_the_page():
    scenarios, text = list(select(["router_invariants"])), PAGE.read_text()
    assert len(invariants()) == 46
    for number, sentence in enumerate(invariants(), 1):
        assert scenarios_of(number, scenarios), sentence
        assert f"### {number}. {sentence}" in text


def test_the_page_has_every_check_and_no_other(rows):
    checks = [(scenario.name, named.name) for scenario in select(list(SUITES)) for named in scenario.checks]
    assert sorted((scenario, check) for scenario, check, _ in rows) == sorted(checks)


def test_every_check_is_red_on_a_mutant_that_is_meant_for_it(rows):
    mutants = {mutant.name: mutant for mutant in find_mutants(ROOT / "gates" / "mutants")}
    suites = {scenario.name: scenario.suite for scenario in select(list(SUITES))}
    for scenario, check, red in rows:
        assert red, check
        for name in red:
            assert mutants[name].is_meant_for(suites[scenario], scenario), (name, scenario)


def test_every_report_is_replayed_somewhere():
    known = {
        f"{scenario.suite}/{scenario.name}"
        for scenario in select(["router_invariants", "router_reports", "hydra_router"])
    }
    assert len(REPORTS) == 37
    replayed = {place for report in REPORTS.values() for place in report.places}
    for place in replayed:
        assert place in known or (ROOT / place).is_file(), place
    assert {place for place in known if place.startswith("router_reports/")} <= replayed
