"""Which Python program a command line is: table of command lines."""

import sys
from pathlib import Path

import pytest

from harness.proof.module_scan import absolute, imports_of
from harness.proof.python_program import find_python

PYTHON = sys.executable


@pytest.mark.parametrize(
    ("command", "flags", "entry"),
    [
        ([PYTHON, "-m", "pkg.mod", "--port", "0"], (), {"module": "pkg.mod", "path0": "CWD"}),
        ([PYTHON, "-mpkg"], (), {"module": "pkg", "path0": "CWD"}),
        ([PYTHON, "-Im", "pkg"], ("-I",), {"module": "pkg", "path0": None}),
        ([PYTHON, "-X", "dev", "-u", "-m", "pkg"], ("-X", "dev", "-u"), {"module": "pkg", "path0": "CWD"}),
        ([PYTHON, "-c", "import pkg"], (), {"code": "import pkg", "path0": "CWD"}),
        ([PYTHON, "-Wignore", "sub/run.py"], ("-Wignore",), {"script": "CWD/sub/run.py", "path0": "CWD/sub"}),
        (["env", "A=1", PYTHON, "-m", "pkg"], (), {"module": "pkg", "path0": "CWD"}),
        (["taskset", "-c", "0", PYTHON, "-m", "pkg"], (), {"module": "pkg", "path0": "CWD"}),
    ],
)
def test_the_program_in_a_command(tmp_path, command, flags, entry):
    entry = {key: value and value.replace("CWD", str(tmp_path)) for key, value in entry.items()}
    found = find_python(command, tmp_path, {"PATH": "/usr/bin:/bin"})
    assert found is not None
    assert (found.flags, dict(found.entry)) == (flags, entry)


def test_an_interpreter_in_the_first_line_is_found_through_env(tmp_path):
    script = tmp_path / "router"
    script.write_text("#!/usr/bin/env -S python3 -u\n")
    script.chmod(0o755)
    found = find_python(["./router"], tmp_path, {"PATH": str(Path(PYTHON).parent)})
    assert found is not None
    assert (Path(found.interpreter).name, found.flags) == ("python3", ("-u",))


@pytest.mark.parametrize("command", [["true", PYTHON], [PYTHON], [PYTHON, "-"], ["./missing"]])
def test_no_python_program(tmp_path, command):
    assert find_python(command, tmp_path, {"PATH": "/usr/bin:/bin"}) is None


SOURCE = b"""
import a.b as c, d  # e
from f import (g,  # not h
    i as j)
from . import k
from ..l import m
    import n
from o import p, \\
    q
importlib.import_module("r.s")
important = "import"
"""


def test_imports_are_read_from_the_text():
    assert sorted(set(imports_of(SOURCE, "top.sub"))) == sorted(
        {"a.b", "d", "f", "f.g", "f.i", "top.sub", "top.sub.k", "top.l", "top.l.m", "n", "o", "o.p", "o.q", "r.s"}
    )


@pytest.mark.parametrize(
    ("name", "package", "expected"),
    [("x", "a.b", "x"), (".x", "a.b", "a.b.x"), ("..x", "a.b", "a.x"), (".", "a.b", "a.b"), ("...x", "a.b", None)],
)
def test_relative_names(name, package, expected):
    assert absolute(name, package) == expected
