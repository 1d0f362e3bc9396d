"""A mutant of the harness is caught by a test that fails, by nothing less."""

from pathlib import Path

import pytest

from harness.proof.mutant_tests import is_caught, uncaught
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


def mutants_of(package: Path, **bodies_and_tests: tuple[str, str]) -> list[Mutant]:
    found = []
    for name, (body, tests) in bodies_and_tests.items():
        (package / f"{name}.py").write_text(body)
        found.append(Mutant(name, package / f"{name}.py", "x", ("s",), Replaces.HARNESS, tests=(tests,)))
    return found


def test_tests_that_pass_without_any_mutant_are_run_so_once_for_all(package):
    wrong = "import acme\nacme.double = lambda x: x\n"
    mutants = mutants_of(package, seen=(wrong, "test_acme.py"), unseen=(wrong, "test_idle.py"))
    assert uncaught(mutants, package, workers=2) == ("unseen",)
    assert [file.name for file in package.glob("*-without.log")] == ["harness-without.log"]


def test_a_test_that_fails_anyway_catches_no_mutant_and_spoils_no_other(package):
    (package / "test_broken.py").write_text("def test_broken():\n    assert False\n")
    wrong = "import acme\nacme.double = lambda x: x\n"
    mutants = mutants_of(package, seen=(wrong, "test_acme.py"), never=(wrong, "test_broken.py"))
    assert uncaught(mutants, package, workers=2) == ("never",)
