"""Builds of refs: clean sources, built once, kept apart, and failures that say why."""

import subprocess
import threading
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.proof.ref_build import BuildFailed, build_ref
from harness.proof.tests.test_provenance import git

BUILD = "echo built >> {build}/times && cp version {build}/version"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Two commits, tagged `before` and `after`, and an edit that nobody committed."""
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    for tag in ("before", "after"):
        (repo / "version").write_text(f"{tag}\n")
        git(repo, "add", ".")
        git(repo, "commit", "-qm", tag)
        git(repo, "tag", tag)
    (repo / "version").write_text("not committed\n")
    return repo


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_each_ref_is_built_from_its_own_clean_tree(repo, cache):
    old, new = (build_ref(repo, ref, BUILD, cache=cache) for ref in ("before", "after"))
    assert Path(old.build, "version").read_text() == "before\n"
    assert Path(new.build, "version").read_text() == "after\n"
    assert (repo / "version").read_text() == "not committed\n"
    worktrees = subprocess.run(("git", "-C", repo, "worktree", "list"), capture_output=True, text=True, check=True)
    assert worktrees.stdout.count("\n") == 1, "the person's repository is left alone"


def test_the_same_tree_is_built_once(repo, cache):
    first = build_ref(repo, "after", BUILD, cache=cache)
    git(repo, "tag", "same", "after")
    again = build_ref(repo, "same", BUILD, cache=cache)
    assert (again.ref, again.build) == ("same", first.build)
    assert Path(first.build, "times").read_text() == "built\n"


def test_another_build_command_is_another_build(repo, cache):
    first = build_ref(repo, "after", BUILD, cache=cache)
    assert build_ref(repo, "after", BUILD + " && true", cache=cache).build != first.build


def test_two_runs_that_want_it_at_once_build_it_once(repo, cache):
    found = []
    slow = "sleep 0.3; " + BUILD
    threads = [threading.Thread(target=lambda: found.append(build_ref(repo, "after", slow, cache=cache))) for _ in "12"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert Path(found[0].build, "times").read_text() == "built\n"


def test_sources_that_somebody_changed_are_built_again(repo, cache):
    first = build_ref(repo, "after", BUILD, cache=cache)
    Path(first.source, "version").write_text("meddled\n")
    again = build_ref(repo, "after", BUILD, cache=cache)
    assert Path(again.build, "version").read_text() == "after\n"


def test_a_failed_build_shows_the_end_of_its_log_and_is_tried_again(repo, cache):
    with pytest.raises(BuildFailed, match="ended with status 3") as failed:
        build_ref(repo, "after", "echo the compiler is cross; exit 3", cache=cache)
    assert "the compiler is cross" in str(failed.value)
    with pytest.raises(BuildFailed):
        build_ref(repo, "after", "echo the compiler is cross; exit 3", cache=cache)


@pytest.mark.parametrize("ref", ["nowhere", "--help", "HEAD:version", ""])
def test_what_is_no_commit_is_the_persons_error(repo, cache, ref):
    with pytest.raises(UsageError, match="has no commit called"):
        build_ref(repo, ref, BUILD, cache=cache)


def test_what_is_no_repository_is_the_persons_error(tmp_path, cache):
    with pytest.raises(UsageError, match="is no git repository"):
        build_ref(tmp_path, "HEAD", BUILD, cache=cache)


def test_run_commands_name_the_folders(repo, cache):
    built = build_ref(repo, "after", BUILD, cache=cache)
    words = built.filled(["{build}/bin/router", "--from", "{src}"])
    assert words == (f"{built.build}/bin/router", "--from", built.source)


def test_only_a_build_that_has_to_be_waited_for_is_announced(repo, cache):
    announced: list[str] = []
    for _ in range(2):
        build_ref(repo, "after", BUILD, cache=cache, announce=announced.append)
    assert len(announced) == 1
    assert "building after" in announced[0]
