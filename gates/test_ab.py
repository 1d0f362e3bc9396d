"""The review that the project grew from, replayed from a git repository, and what spoils such a review."""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gates.commands import AT_MOST_S, ROOT, ROUTER, kvgate, python_router
from gates.test_seed_table import CLAIM_UNREAD, NO_FALLBACK, named
from harness.deadline import until

SUITE = "hybrid_kvshare_route"
SHORT = f"scenarios/{SUITE}/short.yaml"
BUILD = f"{sys.executable} -m zipapp {{src}}/code -p {sys.executable} -o {{build}}/router.pyz"


def git(repo, *words):
    who = ("-c", "user.name=A Maintainer", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(repo), *who, *words], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    """A router's repository with two commits: before a fix, whose faults are in the code, and after it."""
    repo = tmp_path_factory.mktemp("review") / "repo"
    code = repo / "code"
    for package in ("router", "wire"):
        shutil.copytree(ROOT / package, code / package, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    faults = code / "gates" / "mutants"
    faults.mkdir(parents=True)
    for name in ("__init__", "before_fix", "claim_half", "no_fallback_half"):
        shutil.copy(ROOT / "gates" / "mutants" / f"{name}.py", faults)
    (code / "gates" / "__init__.py").write_text("")
    (code / "__main__.py").write_text(
        "from gates.mutants.before_fix import mutate\nfrom router.cli import main\nmutate()\nraise SystemExit(main())\n"
    )
    git(repo.parent, "init", "-q", "-b", "main", str(repo))
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "A router that shares")
    git(repo, "tag", "before")
    shutil.rmtree(code / "gates")
    (code / "__main__.py").write_text("from router.cli import main\nraise SystemExit(main())\n")
    git(repo, "commit", "-q", "-a", "-m", "A decoder that cannot share its KV gets the state-file route")
    return repo


def words(repo, folder, run, suite=SUITE):
    build = () if "{src}" in run else ("--build", BUILD)
    refs = ("--repo", str(repo), "--old", "before", "--new", "main", *build, "--run", run)
    return ("ab", *refs, suite, "--json", str(folder / "ab.json"), "--runs", str(folder / "runs"))


def test_two_refs_of_a_repository_give_the_reviewers_table(repo, tmp_path):
    cache = str(tmp_path / "cache")
    ended = kvgate(*words(repo, tmp_path, "{build}/router.pyz"), XDG_CACHE_HOME=cache)
    result = json.loads((tmp_path / "ab.json").read_text())
    assert (ended.status, result["verdict"]) == (0, "proven"), ended.out + ended.err
    assert named(result, "old", "FAIL") == NO_FALLBACK | CLAIM_UNREAD
    assert [len(named(result, *at)) for at in (("old", "ok"), ("new", "ok"))] == [26, 33]
    built = result["builds"]["old"]["built_from"]
    assert built["ref"] == "before"
    assert Path(built["log"]).read_text().startswith("$ ")
    assert result["builds"]["old"]["sha256"] != result["builds"]["new"]["sha256"]
    assert ended.err.count("building ") == 2
    again = kvgate(*words(repo, tmp_path, "{build}/router.pyz", SHORT), XDG_CACHE_HOME=cache)
    assert again.status == 0, again.out + again.err
    assert "building " not in again.err  # the same sources are built once


def rewritten(cache):
    """What a second build in the same folder does: the program of one side becomes the other's."""
    (one, other) = sorted(cache.glob("kvgate/builds/*/build/router.pyz"))
    shutil.copy(one, other)


def switched(cache):
    """What the reviewer did: another branch is checked out where the program comes from."""
    for source in cache.glob("kvgate/builds/*/src"):
        git(source, "checkout", "-q", "--detach", "before")


@pytest.mark.parametrize(
    ("run", "spoil", "told"),
    [
        ("{build}/router.pyz", rewritten, r"router\.pyz changed: sha256"),
        (f"{sys.executable} {{src}}/code/__main__.py", switched, r"the git tree \S+/src went from \w+ to \w+"),
    ],
)
def test_a_program_that_changes_halfway_taints_the_review(repo, tmp_path, run, spoil, told):
    cache = tmp_path / "cache"
    command = [sys.executable, "-m", "harness.cli", *words(repo, tmp_path, run)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )  # fmt: skip
    try:

        async def two_scenarios_done():
            seen = list((tmp_path / "runs").glob("*/new/*/*/result.json"))
            return len(seen) >= 2 or None

        asyncio.run(until(AT_MOST_S, "two scenarios on the new build", two_scenarios_done))
        spoil(cache)
        out, _ = process.communicate(timeout=AT_MOST_S)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3, out
    assert "tainted" in out.splitlines()[-1]
    result = json.loads((tmp_path / "ab.json").read_text())
    assert result["verdict"] == "tainted"
    assert any(re.search(told, note) for note in result["notes"]), result["notes"]


def test_a_build_that_cannot_be_made_says_why_and_keeps_its_log(repo, tmp_path):
    refs = (
        "--repo",
        str(repo),
        "--old",
        "before",
        "--new",
        "main",
        "--build",
        "echo no compiler; exit 7",
        "--run",
        "x",
    )
    ended = kvgate("ab", *refs, SUITE, XDG_CACHE_HOME=str(tmp_path))
    assert ended.status == 3
    assert "the build of before ended with status 7" in ended.err
    assert "no compiler" in ended.err
    assert "Traceback" not in ended.err


def test_a_build_that_differs_only_in_timing_is_vacuous(tmp_path):
    (tmp_path / "slower.py").write_text(
        "import asyncio\nfrom router.cli import main\nfrom router.dispatch import Dispatcher\n"
        "honest = Dispatcher.serve\n"
        "async def serve(self, *words):\n    await asyncio.sleep(0.3)\n    return await honest(self, *words)\n"
        "Dispatcher.serve = serve\nraise SystemExit(main())\n"
    )
    slower = shlex.join([sys.executable, str(tmp_path / "slower.py")])
    told = tmp_path / "ab.json"
    repeated = ("--repeat", "3", "--json", str(told))
    ended = kvgate("ab", "--old", slower, "--new", ROUTER, SHORT, *repeated, PYTHONPATH=str(ROOT))
    assert ended.status == 4, ended.out + ended.err
    assert "vacuous" in ended.out.splitlines()[-1]
    (timing,) = json.loads(told.read_text())["timings"]
    assert timing["pairs"] == 3
    assert timing["low"] < timing["ratio"] < timing["high"]


def test_a_build_that_is_red_in_half_its_runs_is_unstable_and_the_rate_is_told(tmp_path):
    turn = (
        f"turns = {str(tmp_path / 'turns')!r}\nwith open(turns, 'a') as file: file.write('x')\n"
        "if os.path.getsize(turns) % 2:\n"
        "    os.execv(sys.executable, [sys.executable, '-m', 'gates.mutants.claim_half', *sys.argv[1:]])"
    )
    flaky = python_router(tmp_path, turn)
    history = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    ended = kvgate("ab", "--old", ROUTER, "--new", flaky, SHORT, "--repeat", "4", **history)
    assert ended.status == 3, ended.out + ended.err
    assert "unstable" in ended.out.splitlines()[-1]
    assert ended.out.count("2 of 4 FAIL") == len(CLAIM_UNREAD)


def test_the_list_of_red_checks_can_be_pinned(tmp_path):
    old = f"{sys.executable} -m gates.mutants.claim_half"
    pinned = kvgate("ab", "--old", old, "--new", ROUTER, SHORT, "--expect-red", *sorted(CLAIM_UNREAD))
    assert pinned.status == 0, pinned.out
    fewer = kvgate("ab", "--old", old, "--new", ROUTER, SHORT, "--expect-red", *sorted(CLAIM_UNREAD)[1:])
    assert fewer.status == 1
    assert "red on old, and not expected to be" in fewer.out
