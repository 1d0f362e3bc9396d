"""`kvgate ab` from its arguments to its exit status, with a runner that answers from a table."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.proof import ab, scenario_runs
from harness.proof.tests.test_provenance import git
from harness.result import CheckResult, RunResult, ScenarioResult, Status, Verdict
from harness.scenario import Scenario

OK, FAIL, ERROR = Status.OK, Status.FAIL, Status.ERROR
SCENARIO = """
scenario: {name}
under_test: {kind}
requests:
  - prompt: hello
checks:
  {name} is answered:
    reply: {{status: 200}}
  {name} is pinned:
    reply: {{status: 200}}
"""


class Recorded:
    """A report that keeps what it is shown."""

    def __init__(self) -> None:
        self.shown: list[RunResult] = []
        self.total = 0

    def listener(self, total: int) -> "Recorded":
        self.total = total
        return self

    def started(self, suite: str, scenario: str, build: str) -> None: ...

    def ended(self, result: ScenarioResult) -> None: ...

    def show(self, result: RunResult) -> int:
        self.shown.append(result)
        return result.verdict.exit_status


Answer = Callable[[str, str], Status]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    suite = tmp_path / "suite"
    suite.mkdir()
    for name in ("one", "two"):
        (suite / f"{name}.yaml").write_text(SCENARIO.format(name=name, kind="router"))
    return suite


@pytest.fixture
def compare(monkeypatch, tmp_path, suite):
    """Runs ab over the suite; `answer` says what a check says on a build."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(answer: Answer, *words: str, old: str = "true", new: str = "true") -> tuple[int, RunResult]:
        def run_scenario(scenario: Scenario, build, *, folder, options, session) -> ScenarioResult:
            folder.mkdir(parents=True)
            checks = tuple(
                CheckResult(scenario.suite, scenario.name, named.name, build.name, answer(build.name, named.name), "")
                for named in scenario.checks
            )
            return ScenarioResult(scenario.suite, scenario.name, build.name, checks, duration_s=0.1)

        monkeypatch.setattr(scenario_runs, "run_scenario", run_scenario)
        parser = argparse.ArgumentParser()
        ab.add_arguments(parser)
        given = ["--old", old, "--new", new, "--runs", str(tmp_path / "runs"), str(suite), *words]
        report = Recorded()
        status = ab.run(parser.parse_args(given), report)
        (result,) = report.shown
        return status, result

    return run


def pinned_is(on_old: Status, on_new: Status) -> Answer:
    def answer(build: str, check: str) -> Status:
        return OK if "pinned" not in check else on_old if build == "old" else on_new

    return answer


@pytest.mark.parametrize(
    ("old", "new", "verdict", "status"),
    [
        (FAIL, OK, Verdict.PROVEN, 0),
        (OK, FAIL, Verdict.REGRESSION, 1),
        (FAIL, FAIL, Verdict.FAILING, 1),
        (OK, OK, Verdict.VACUOUS, 4),
        (FAIL, ERROR, Verdict.ERROR, 3),
    ],
)
def test_the_exit_status_is_the_verdicts(compare, old, new, verdict, status):
    found, result = compare(pinned_is(old, new))
    assert (found, result.verdict) == (status, verdict)


def test_a_build_that_cannot_start_is_an_error_and_never_proof(compare):
    status, result = compare(lambda build, check: ERROR if build == "old" else OK)
    assert (status, result.verdict) == (3, Verdict.ERROR)
    assert "4 checks could not be observed on old: they prove nothing" in result.notes


def test_the_run_folder_holds_the_published_json(compare):
    _, result = compare(pinned_is(FAIL, OK))
    values = json.loads((Path(result.folder) / "result.json").read_text())
    assert (values["schema"], values["verdict"], values["kind"]) == (1, "proven", "ab")
    assert set(values["builds"]) == {"old", "new"}
    red = {(check["build"], check["check"]) for check in values["checks"] if check["status"] == "FAIL"}
    assert red == {("old", "one is pinned"), ("old", "two is pinned")}


def test_repeats_are_shuffled_by_a_seed_that_is_told(compare):
    _, result = compare(pinned_is(FAIL, OK), "--repeat", "3", "--seed", "7")
    assert len(result.scenarios) == 12
    assert "3 turns, order shuffled with seed 7" in result.notes
    assert result.timings[0].pairs == 6


def test_a_check_that_is_red_in_some_turns_is_unstable_with_its_rate(compare):
    turns = iter([FAIL, OK, FAIL, OK] * 10)
    status, result = compare(
        lambda build, check: next(turns) if (build, check) == ("old", "one is pinned") else OK, "--repeat", "4"
    )
    assert (status, result.verdict) == (3, Verdict.UNSTABLE)
    (unstable,) = [each for each in result.comparisons if each.check == "one is pinned"]
    assert unstable.tallies["old"].word == "2 of 4 FAIL"


def test_expected_red_names_are_held_to(compare):
    both = ("one is pinned", "two is pinned")
    assert compare(pinned_is(FAIL, OK), "--expect-red", *both)[0] == 0
    status, result = compare(pinned_is(FAIL, OK), "--expect-red", both[0])
    assert (status, result.verdict) == (1, Verdict.UNEXPECTED)
    assert "red on old, and not expected to be: two is pinned" in result.notes


def test_a_mistyped_expected_name_is_refused_before_anything_runs(compare):
    with pytest.raises(UsageError, match="did you mean 'one is pinned'"):
        compare(pinned_is(FAIL, OK), "--expect-red", "one is pined")


def test_scenarios_of_different_kinds_are_not_compared(compare, suite):
    (suite / "three.yaml").write_text(SCENARIO.format(name="three", kind="decoder"))
    with pytest.raises(UsageError, match=r"a router .* and a decoder"):
        compare(pinned_is(FAIL, OK))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--old-env", "NAME"), "--old-env: expected NAME=VALUE, got 'NAME'"),
        (("--new-profile", "llama-server"), "the profile llama-server starts a decoder"),
    ],
)
def test_bad_builds_are_one_clear_line(compare, words, problem):
    with pytest.raises(UsageError, match=problem):
        compare(pinned_is(FAIL, OK), *words)


@pytest.mark.parametrize(("command", "problem"), [("a 'b", "No closing quotation"), ("", "an empty command")])
def test_commands_that_are_none_are_refused(compare, command, problem):
    with pytest.raises(UsageError, match=f"--old: {problem}"):
        compare(pinned_is(FAIL, OK), old=command)


def test_known_red_scenarios_are_compared_like_others(compare, suite):
    (suite / "one.yaml").write_text("known_red: until the fix\n" + SCENARIO.format(name="one", kind="router"))
    assert compare(pinned_is(FAIL, OK))[1].verdict is Verdict.PROVEN


def test_refs_are_built_and_run_from_their_own_trees(compare, tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    for tag in ("before", "after"):
        (repo / "router").write_text(f"#!/bin/sh\necho {tag}\n")
        git(repo, "add", ".")
        git(repo, "commit", "-qm", tag)
        git(repo, "tag", tag)
    build = ("--repo", str(repo), "--build", "install -m 755 router {build}/router", "--run", "{build}/router --quiet")
    status, result = compare(pinned_is(FAIL, OK), *build, old="before", new="after")
    assert status == 0
    old, new = result.builds
    assert (old.fingerprint["version"], new.fingerprint["version"]) == ("before", "after")
    assert old.command[1:] == ("--quiet",)
    assert old.fingerprint["built_from"]["ref"] == "before"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--repo", "."), "--repo needs --run"),
        (("--build", "make"), "--build needs --repo"),
        (("--run", "x"), "--run needs --repo"),
    ],
)
def test_half_of_a_build_from_refs_is_refused(compare, words, problem):
    with pytest.raises(UsageError, match=problem):
        compare(pinned_is(FAIL, OK), *words)
