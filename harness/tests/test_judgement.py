"""The rules on top of the checks: faults that did not fire, absences behind them, errors, what is known to be red."""

from dataclasses import replace

import pytest

from harness.judgement import judge_all
from harness.profiles import KVGATE_ROUTER, Build
from harness.record import Event
from harness.result import Status
from harness.scenario_file import load
from harness.tests.records import GOOD, event, journal

BUILD = Build("build", ("router",), KVGATE_ROUTER)
SCENARIO = """\
scenario: a restore that is refused
under_test: router
decoder: {faults: [restore-refuse]}
provider: {}
requests: [{prompt: {tokens: 30}}]
checks:
  it adopts: {decoder.adopt: {status: 200}}
  it saves nothing:
    absent: {decoder.save: {}}
    witness: {decoder.adopt: {status: 200}}
"""


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "refused.yaml").write_text(SCENARIO)
    return load(tmp_path / "refused.yaml")


def record(*more, reached=1, fired=1):
    counts = {"restore-refuse": {"reached": reached, "fired": fired}}
    *events, _end = GOOD.journals["decoder"].events
    whole = journal(*events, *more, event(9, "end", faults=counts))
    return replace(GOOD, journals={**GOOD.journals, "decoder": whole})


def judged(scenario, record, *errors):
    return [check.status for check in judge_all(scenario, BUILD, record, errors)]


def test_a_fault_that_fired_lets_the_checks_stand(scenario):
    assert judged(scenario, record()) == [Status.OK, Status.OK]


def test_a_fault_that_was_reached_and_never_fired_makes_all_of_it_an_error(scenario):
    assert judged(scenario, record(fired=0)) == [Status.ERROR, Status.ERROR]


def test_a_fault_that_changed_nothing_makes_all_of_it_an_error(scenario):
    silent = Event(8, 1_000_000_008, "fault_no_effect", {"name": "restore-refuse"})
    assert judged(scenario, record(silent)) == [Status.ERROR, Status.ERROR]


def test_behind_a_fault_that_was_never_reached_only_absences_are_errors(scenario):
    assert judged(scenario, record(reached=0, fired=0)) == [Status.OK, Status.ERROR]


def test_what_was_seen_stays_red_behind_a_fault_that_was_never_reached(scenario):
    saved = event(8, "save", status=200)
    assert judged(scenario, record(saved, reached=0, fired=0)) == [Status.OK, Status.FAIL]


def test_a_run_that_cannot_be_trusted_is_an_error_as_a_whole(scenario):
    assert judged(scenario, record(), "the decoder died") == [Status.ERROR, Status.ERROR]


def test_known_red_is_a_skip_while_it_is_red_and_a_finding_when_nothing_is(scenario):
    known = replace(scenario, known_red="not mended yet")
    assert judged(known, record(event(8, "save", status=200))) == [Status.OK, Status.SKIP]
    assert judged(known, record()) == [Status.FAIL, Status.FAIL]
    assert judged(known, record(), "the decoder died") == [Status.ERROR, Status.ERROR]
