"""A series of jobs: order, evidence on disk at every moment, taint, and every way to be cut short."""

import errno
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from harness.errors import UsageError
from harness.proof.provenance import Fingerprint, Provenance
from harness.proof.run_folder import new_run_folder, write_whole
from harness.proof.schedule import Job, interleaved
from harness.proof.series import Contender, Series
from harness.result import CheckResult, RunResult, ScenarioResult, Status, Verdict

ONE_TURN = [("a", "old"), ("a", "new"), ("b", "old"), ("b", "new")]


def order(repeat: int, rng: Random | None) -> list[tuple[str, str]]:
    return [(job.scenario, job.build) for job in interleaved(["a", "b"], ["old", "new"], repeat, rng)]


def test_without_repeats_the_order_is_the_one_given():
    assert order(1, None) == ONE_TURN


def test_a_seed_makes_the_order_and_another_seed_another_one():
    assert order(8, Random(1)) == order(8, Random(1))
    assert order(8, Random(1)) != order(8, Random(2))


def test_shuffling_keeps_every_turn_whole():
    shuffled = order(5, Random(3))
    assert [sorted(shuffled[at : at + 4]) for at in range(0, 20, 4)] == [sorted(ONE_TURN)] * 5
    assert shuffled != ONE_TURN * 5


class Quiet:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def started(self, suite: str, scenario: str, build: str) -> None:
        self.heard.append(f"{build} {scenario}")

    def ended(self, result: ScenarioResult) -> None:
        self.heard.append(f"{result.build} {result.scenario} {result.status}")


def all_ok(result: RunResult, tainted: bool) -> RunResult:
    return replace(result, verdict=Verdict.TAINTED if tainted else Verdict.OK)


def ok(job: Job[str], folder: Path) -> ScenarioResult:
    check = CheckResult("suite", job.scenario, "holds", "whoever", Status.OK, "")
    return ScenarioResult("suite", job.scenario, "whoever", (check,), folder=str(folder))


class Still:
    """A build that never moves."""

    def take(self, *, with_version: bool = False) -> Fingerprint:
        return Fingerprint(None, None, (), None, (), (), (), version="1.0" if with_version else None)

    def moved_since(self, before: Fingerprint) -> tuple[str, ...]:
        return ()


@pytest.fixture
def series(tmp_path: Path) -> Series[str]:
    folder = tmp_path / "run"
    folder.mkdir()
    contenders = [Contender(name, (name,), Still()) for name in ("old", "new")]
    jobs = list(interleaved(["a", "b"], ["old", "new"], 2, None))
    return Series("ab", contenders, jobs, folder, ok, all_ok, Quiet(), lambda scenario: ("suite", scenario))


def on_disk(series: Series[str]) -> dict[str, object]:
    loaded: dict[str, object] = json.loads((series.folder / "result.json").read_text())
    return loaded


def test_a_whole_series_is_the_same_on_disk(series):
    result = series.run()
    assert (result.verdict, result.partial, len(result.scenarios)) == (Verdict.OK, False, 8)
    assert on_disk(series) == json.loads(json.dumps(result.to_json()))
    assert {build.fingerprint["version"] for build in result.builds} == {"1.0"}


def test_results_carry_the_build_and_the_turn_of_their_job(series):
    result = series.run()
    first, last = result.scenarios[0], result.scenarios[-1]
    assert (first.build, first.repeat, first.checks[0].build, first.checks[0].repeat) == ("old", 0, "old", 0)
    assert (last.build, last.repeat, last.checks[0].build, last.checks[0].repeat) == ("new", 1, "new", 1)
    assert len({scenario.folder for scenario in result.scenarios}) == 8


def test_a_listener_hears_every_job_start_and_end(series):
    series.run()
    assert series.listener.heard[:3] == ["old a", "old a ok", "new a"]
    assert len(series.listener.heard) == 16


def stop_at(number: int, stop):
    """Runs jobs as `ok` does and calls `stop` in the one with this number."""
    calls = []

    def run_job(job: Job[str], folder: Path) -> ScenarioResult:
        calls.append(job)
        if len(calls) == number:
            stop()
        return ok(job, folder)

    return run_job


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "stop",
    [interrupt, lambda: os.kill(os.getpid(), signal.SIGTERM), lambda: os.kill(os.getpid(), signal.SIGHUP)],
    ids=["interrupt", "SIGTERM", "SIGHUP"],
)
def test_an_interrupt_keeps_what_was_observed(series, stop):
    result = replace(series, run_job=stop_at(4, stop)).run()
    assert (result.partial, result.verdict, len(result.scenarios)) == (True, Verdict.ERROR, 3)
    assert "interrupted after 3 of 8 scenario runs" in result.notes
    assert on_disk(series)["partial"] is True


def test_a_harness_that_is_killed_has_left_a_partial_result(series):
    """What lies on disk while a job runs is what `kill -9` leaves."""
    seen = []
    replace(series, run_job=stop_at(3, lambda: seen.append(on_disk(series)))).run()
    assert (seen[0]["partial"], seen[0]["verdict"], len(seen[0]["checks"])) == (True, "error", 2)


def test_a_full_disk_ends_the_series_and_keeps_the_last_whole_result(series, monkeypatch):
    def full(number: int):
        real, calls = os.fsync, []

        def fsync(descriptor: int) -> None:
            calls.append(descriptor)
            if len(calls) >= number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        return fsync

    monkeypatch.setattr(os, "fsync", full(4))
    result = series.run()
    assert (result.partial, result.verdict) == (True, Verdict.ERROR)
    assert any("No space left on device" in note and "after 3 of 8" in note for note in result.notes)
    assert on_disk(series)["partial"] is True
    assert len(on_disk(series)["checks"]) == 2
    assert [path.name for path in series.folder.iterdir()] == ["result.json"]


def test_a_build_that_changes_is_tainted_even_when_it_is_changed_back(series, tmp_path):
    build = tmp_path / "build.py"
    build.write_text(text := "print('1.0')\n")
    command = (sys.executable, str(build))
    contenders = [Contender("old", command, Provenance(command, cwd=tmp_path)), Contender("new", ("new",), Still())]

    def run_job(job: Job[str], folder: Path) -> ScenarioResult:
        if len(series.listener.heard) == 5:
            build.write_text("print('2.0')\n")
        if len(series.listener.heard) == 9:
            build.write_text(text)
        return ok(job, folder)

    result = replace(series, contenders=contenders, run_job=run_job).run()
    assert (result.verdict, result.partial) == (Verdict.TAINTED, False)
    assert any(f"old moved during the run: {build} changed" in note for note in result.notes)


def test_an_interrupted_series_is_not_judged_by_what_it_happened_to_see(series):
    proven = replace(series, conclude=lambda result, tainted: replace(result, verdict=Verdict.PROVEN))
    assert replace(proven, run_job=stop_at(8, interrupt)).run().verdict is Verdict.ERROR


def test_a_series_may_have_seen_enough(series):
    result = replace(series, enough=lambda result: result.scenario == "b").run()
    assert [scenario.scenario for scenario in result.scenarios] == ["a", "a", "b"]
    assert result.partial is False
    left = len(series.jobs) - 3
    assert f"stopped at the first that is not ok: {left} of {left + 3} scenario runs were left out" in result.notes


def test_a_series_that_has_enough_at_its_end_leaves_nothing_out(series):
    last = len(series.jobs)
    seen = iter(range(1, last + 1))
    assert not any("left out" in note for note in replace(series, enough=lambda _: next(seen) == last).run().notes)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the run folder takes no more: No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "/r/x"), "takes no more: Permission denied (/r/x)"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"), "the run broke off: [Errno 111] Connect"),
    ],
)
def test_what_broke_a_series_off_is_called_what_it_is(series, error, told):
    def run_job(job, folder):
        raise error

    result = replace(series, run_job=run_job).run()
    assert (result.partial, result.verdict) == (True, Verdict.ERROR)
    assert told in result.notes[0]


def test_signals_are_given_back(series):
    before = signal.getsignal(signal.SIGTERM)
    series.run()
    assert signal.getsignal(signal.SIGTERM) is before


def test_run_folders_are_private_fresh_and_named_after_the_run(tmp_path):
    one, two = new_run_folder(tmp_path, "ab"), new_run_folder(tmp_path, "ab")
    assert one != two
    assert "-ab-" in one.name
    assert one.stat().st_mode & 0o777 == 0o700


def test_a_run_folder_that_cannot_be_made_is_the_persons_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot make the run folder"):
        new_run_folder(tmp_path / "file", "ab")


def test_writing_whole_replaces_and_leaves_no_scraps(tmp_path):
    path = tmp_path / "result.json"
    write_whole(path, "one")
    write_whole(path, "two \udcff")
    assert path.read_text() == "two \\udcff"
    assert list(tmp_path.iterdir()) == [path]
