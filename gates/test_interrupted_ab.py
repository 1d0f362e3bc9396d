"""An A/B that is cut short in the middle: everything ends, and what was seen is on disk and told as partial."""

import json
import os
import secrets
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from gates.commands import AT_MOST_S, ROOT, ROUTER, kvgate
from gates.test_endings import HANGING, marked, waited

QUICK = """\
scenario: a prompt that is handed over
under_test: router
provider: {}
requests: [{prompt: {tokens: 30}}]
checks:
  the quick one is answered: {reply: {status: 200}}
"""


@contextmanager
def comparing(folder, runs, *more):
    """An A/B of one build with itself over what lies in `folder`, and the mark that everything it starts has."""
    mark = f"MARK_{secrets.token_hex(8)}"
    words = ["ab", str(folder), "--old", ROUTER, "--new", ROUTER, "--runs", str(runs), *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *words],
        cwd=ROOT, env={**os.environ, mark: "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process, mark
    finally:
        process.kill()
        process.communicate()


def ran_on_both(runs):
    """The run's folder, once the quick scenario has been kept for both builds."""
    for result in runs.glob("*-ab-*/result.json"):
        kept = json.loads(result.read_text())["scenarios"]
        if {"old", "new"} <= {each["build"] for each in kept if each["scenario"] == "a_quick"}:
            return result.parent
    return None


def told_as_partial(run, page):
    """What `kvgate report` says of it, twice: as text, and as a page for a pull request."""
    report = kvgate("report", str(run), "--markdown", str(page))
    assert report.status == 3, report.out + report.err
    assert "this result is partial" in report.out
    assert "the quick one is answered" in report.out or "1 check green on both" in report.out
    assert "**partial**" in page.read_text()
    assert "Traceback" not in report.err
    return report.out


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "a_quick.yaml").write_text(QUICK)
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_whoever_ends_it_in_the_middle(tmp_path, suite, number):
    (suite / "b_hanging.yaml").write_text(HANGING)
    runs = tmp_path / "runs"
    with comparing(suite, runs) as (process, mark):
        run = waited("the quick scenario on both builds", lambda: ran_on_both(runs))
        waited("the provider that hangs", lambda: list(run.rglob("b_hanging/provider.jsonl")) or None)
        assert marked(mark)
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=AT_MOST_S)
        waited("everything to have ended", lambda: None if marked(mark) else True)
    assert "Traceback" not in err
    if number is signal.SIGINT:
        assert process.returncode == 3
        assert "this result is partial" in out
    told_as_partial(run, tmp_path / "report.md")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk):
    """Not a byte is left."""
    with (disk / "filler").open("wb", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2


def make_read_only(disk):
    """Nothing can be written there any more. It takes a moment in which nobody has a file open for writing."""

    def remounted():
        return subprocess.run(["mount", "-o", "remount,ro", str(disk)], capture_output=True).returncode == 0 or None

    waited("the file system to become read-only", remounted)


@pytest.mark.parametrize("spoil", [fill, make_read_only])
def test_a_disk_that_takes_no_more(tmp_path, suite, small_disk, spoil):
    runs = small_disk / "runs"
    with comparing(suite, runs, "--repeat", "100") as (process, mark):
        run = waited("the quick scenario on both builds", lambda: ran_on_both(runs))
        spoil(small_disk)
        out, err = process.communicate(timeout=AT_MOST_S)
        waited("everything to have ended", lambda: None if marked(mark) else True)
    assert "Traceback" not in out + err
    assert process.returncode == 3, out + err
    assert "the run folder takes no more" in out
    assert "this result is partial" in out
    told_as_partial(run, tmp_path / "report.md")
