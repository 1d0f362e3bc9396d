"""`kvgate run --bisect` under a real `git bisect run`."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gates.commands import AT_MOST_S, ROOT, ROUTER, kvgate

SHORT = str(ROOT / "scenarios/hybrid_kvshare_route/short.yaml")
GOOD = f"exec {shlex.quote(ROUTER)}"
BAD = f"exec {shlex.quote(sys.executable)} -m gates.mutants.before_fix"
ABSENT = ""
RUN = (sys.executable, "-m", "harness.cli", "run", "--bisect", "--quiet", "--router", "./router.sh", SHORT)


def git(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    who = ("-c", "user.name=A Maintainer", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", "-C", str(repo), *who, *words],
        capture_output=True,
        text=True,
        timeout=AT_MOST_S,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def history(repo: Path, *builds: str) -> list[str]:
    """A repository with one commit a build, each with what starts its router; their hashes."""
    git(repo.parent, "init", "-q", "-b", "main", str(repo))
    hashes = []
    for number, build in enumerate(builds):
        program = repo / "router.sh"
        program.unlink(missing_ok=True)
        if build != ABSENT:
            program.write_text(f'#!/bin/sh\n# {number}\n{build} "$@"\n')
            program.chmod(0o755)
        (repo / "number").write_text(str(number))
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", f"Commit {number}")
        hashes.append(git(repo, "rev-parse", "HEAD").stdout.strip())
    return hashes


def test_the_first_bad_commit_is_found(tmp_path):
    repo = tmp_path / "repo"
    first, _, third = history(repo, GOOD, GOOD, BAD)
    git(repo, "bisect", "start", third, first)
    ended = git(repo, "bisect", "run", *RUN)
    assert f"{third} is the first bad commit" in ended.stdout, ended.stdout + ended.stderr


def test_a_commit_without_a_program_is_not_convicted(tmp_path):
    repo = tmp_path / "repo"
    first, second, third = history(repo, GOOD, ABSENT, BAD)
    git(repo, "bisect", "start", third, first)
    ended = git(repo, "bisect", "run", *RUN)
    told = ended.stdout + ended.stderr
    assert "is the first bad commit" not in told
    assert "The first bad commit could be any of:" in told
    assert {second, third} <= set(told.split())


@pytest.mark.parametrize("words", [("--nope",), ("--router", "no-such-router", SHORT), ("no_such_suite",)])
def test_what_could_not_be_run_is_not_to_be_judged(words):
    assert kvgate("run", "--bisect", *words).status == 125
