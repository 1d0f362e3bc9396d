"""Outcomes are kept by build and scenario, and a check that says both is named."""

from pathlib import Path

import pytest

from harness.proof.history import History, keep_and_tell
from harness.result import BuildInfo, CheckResult, RunResult, ScenarioResult, Status, Verdict


@pytest.fixture
def history(tmp_path):
    return History(tmp_path / "deep" / "history.sqlite")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("scenario: x\n")
    return path


def ran(status, digest="d1", verdict=Verdict.OK):
    check = CheckResult("suite", "s", "it is pinned", "build", status, f"it was {status} | really", "log:1")
    scenario = ScenarioResult("suite", "s", "build", (check,))
    return RunResult("run", verdict, (BuildInfo("build", ("router",), {"digest": digest}),), (scenario,), folder="/r")


def told(history, file, *results):
    files = {("suite", "s"): file}
    return [keep_and_tell(history, result, files) for result in results][-1]


def test_a_rerun_that_is_ok_tells_of_the_fail_before_it(history, file):
    (line,) = told(history, file, ran(Status.FAIL), ran(Status.OK), ran(Status.OK))
    assert "it is pinned (suite / s) was FAIL in 1 of 3 runs" in line
    (flake,) = history.flakes()
    assert (flake.red, flake.runs, flake.command, flake.red_folder) == (1, 3, "router", "/r")
    assert flake.detail == "it was FAIL | really"


@pytest.mark.parametrize("results", [(Status.OK, Status.OK), (Status.FAIL, Status.FAIL), (Status.FAIL, Status.ERROR)])
def test_what_says_the_same_every_time_is_no_flake(history, file, results):
    assert told(history, file, *map(ran, results)) == ()


def test_another_build_or_another_text_starts_afresh(history, file):
    assert told(history, file, ran(Status.FAIL), ran(Status.OK, digest="d2")) == ()
    file.write_text("scenario: y\n")
    assert told(history, file, ran(Status.OK)) == ()
    assert history.flakes() == []


def test_a_tainted_run_is_not_kept(history, file):
    assert told(history, file, ran(Status.FAIL, verdict=Verdict.TAINTED), ran(Status.OK)) == ()


def test_a_history_that_cannot_be_kept_is_said_and_spoils_nothing(tmp_path, file):
    (tmp_path / "taken").write_text("no database, but long enough to be one? " * 40)
    (line,) = told(History(tmp_path / "taken"), file, ran(Status.OK))
    assert "could not be kept" in line
    (line,) = told(History(Path("/proc/nowhere/history")), file, ran(Status.OK))
    assert "could not be kept" in line


def test_it_can_be_forgotten(history, file):
    told(history, file, ran(Status.FAIL), ran(Status.OK))
    assert (history.forget(), history.flakes()) == (2, [])
