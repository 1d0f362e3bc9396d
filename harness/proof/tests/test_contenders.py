"""What the words of a command line mean, wherever the build is then started."""

import os
import sys
from pathlib import Path

import pytest

from harness.proof.contenders import build_of
from harness.scenario import Kind


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def build(command: str, **options):
    return build_of("old", command, kind=Kind.ROUTER, **options)


def test_relative_paths_mean_what_they_mean_in_the_current_folder(here):
    (here / "conf").mkdir()
    (here / "conf" / "a.yaml").write_text("")
    (here / "router").write_text("")
    (here / "router").chmod(0o755)
    assert build("./router conf/a.yaml not/there --flag").command == (
        str(here / "router"),
        str(here / "conf" / "a.yaml"),
        "not/there",
        "--flag",
    )


def test_links_are_kept_since_virtual_environments_are_made_of_them(here):
    (here / "python").symlink_to(sys.executable)
    assert build("./python -c pass").command[0] == str(here / "python")


def test_a_python_file_is_run_by_this_python(here):
    (here / "mutant.py").write_text("")
    assert build("mutant.py --x").command == (sys.executable, str(here / "mutant.py"), "--x")


def test_a_python_file_that_is_a_program_is_left_one(here):
    (here / "router.py").write_text("#!/bin/sh\n")
    (here / "router.py").chmod(0o755)
    assert build("./router.py").command == (str(here / "router.py"),)


def test_modules_of_the_current_folder_are_found(here, monkeypatch):
    assert build(f"{sys.executable} -m acme").env == {"PYTHONPATH": str(here)}
    assert build(f"{sys.executable} -I -m acme").env == {}
    assert build(f"{sys.executable} -m acme", env=["PYTHONPATH=/own"]).env == {"PYTHONPATH": "/own"}
    monkeypatch.setenv("PYTHONPATH", "/former")
    assert build(f"{sys.executable} -m acme").env == {"PYTHONPATH": f"{here}{os.pathsep}/former"}


def test_variables_may_hold_equals_signs(here):
    assert build("true", env=["A=b=c", "E="]).env == {"A": "b=c", "E": ""}
