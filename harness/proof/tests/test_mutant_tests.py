"""A mutant of the harness is caught by a test that fails, by nothing less."""

from pathlib import Path

import pytest

from harness.proof.mutant_tests import is_caught
from harness.proof.mutants import Mutant, Replaces


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "acme.py").write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "test_acme.py").write_text("import acme\n\ndef test_double():\n    assert acme.double(2) == 4\n")
    (tmp_path / "test_idle.py").write_text("def test_idle():\n    pass\n")
    return tmp_path


def caught(package: Path, body: str, *tests: str) -> bool:
    (package / "mutant.py").write_text(body)
    mutant = Mutant("mutant", package / "mutant.py", "x", ("s",), Replaces.HARNESS, tests=tests)
    return is_caught(mutant, package)


def test_a_failing_test_catches_it_and_the_log_is_kept(package):
    assert caught(package, "import acme\nacme.double = lambda x: x\n", "test_acme.py")
    assert "1 failed" in (package / "mutant.log").read_text()


@pytest.mark.parametrize(
    ("body", "tests"),
    [
        ("import acme\n", ("test_acme.py",)),
        ("import acme\nacme.double = lambda x: x\n", ("test_idle.py",)),
        ("import acme\nacme.double = lambda x: x\n", ("test_nowhere.py",)),
        ("raise RuntimeError\n", ("test_acme.py",)),
    ],
    ids=["a mutant that changes nothing", "a test that looks elsewhere", "no test", "a mutant that cannot be loaded"],
)
def test_nothing_else_catches_it(package, body, tests):
    assert not caught(package, body, *tests)
