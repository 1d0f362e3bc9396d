"""The catalogue as a whole: no fault without its words, its report and its tests, and every mode that was asked for."""

import re

import pytest

from fakes import fault_page
from fakes.catalogue import catalogue, faults_of
from fakes.fault_reports import ASKED, REPORTS
from fakes.fault_setting import parse_setting
from fakes.tests import test_decoder_faults, test_lies, test_process_faults, test_provider, test_wire_faults
from fakes.tests.running import REPOSITORY
from fakes.told import family, told

FAULTS = catalogue()
OURS = faults_of("decoder") | faults_of("provider")
TESTED = (
    test_decoder_faults.TESTED
    | test_lies.TESTED
    | test_process_faults.TESTED
    | test_provider.TESTED
    | test_wire_faults.TESTED
)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_it_says_what_the_wire_sees_what_is_claimed_what_a_router_does_and_which_report(fault):
    words = told(fault)
    assert len(words.wire) > 20
    assert len(words.claim) > 10
    assert re.match(r"A correct router\b", words.router)
    assert fault.reports
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+|https://\S+", report) for report in fault.reports)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", fault.name)
    assert family(fault)[1]


def test_every_fault_is_tried_where_it_fires_and_where_it_does_not():
    assert set(OURS) == TESTED


def test_the_families_are_whole():
    assert len(OURS) >= 80


def test_every_report_that_asks_for_a_mode_has_a_fault_of_that_fake():
    for report in REPORTS:
        names = fault_page.faults_of_report(report, FAULTS.values())
        players = {FAULTS[name].point.who for name in names}
        if report.asks_decoder:
            assert players & {"decoder", "engine"}, report.ref
        if report.asks_provider:
            # A prefill server is a decoder: its saves and refusals are a provider's.
            assert "provider" in players or names, report.ref
        assert names or report.why, report.ref
    assert len({report.ref for report in REPORTS}) == 42


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.mode)
def test_every_mode_that_is_asked_for_can_be_set(asked):
    assert asked.settings
    played = [parse_setting(setting, FAULTS).fault.point.who for setting in asked.settings]
    assert {asked.who, "engine" if asked.who == "decoder" else "provider"} & {*played} or "prefill" in asked.note


def test_the_page_is_current():
    committed = REPOSITORY / "docs" / "faults.md"
    assert committed.read_text() == fault_page.page(), "run: python -m fakes.fault_page > docs/faults.md"


def test_the_page_has_every_fault_once():
    text = fault_page.page()
    assert [text.count(f"**`{name}`**") for name in FAULTS] == [1] * len(FAULTS)
