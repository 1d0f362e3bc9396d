"""The register of mutants: what a file says is read, and what it gets wrong is named."""

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.proof.mutants import Replaces, find_mutants, read_mutant

WHOLE = '"""Something is\nwrong.\n\nAnd more."""\n\nSUITES = ("one", "two")\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pkg" / "mutants"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").write_text("")
    (folder / "b.py").write_text(WHOLE)
    (folder / "a.py").write_text(WHOLE + 'REPLACES = "decoder"\n')
    return folder


def test_a_folder_is_read_in_the_order_of_its_names(folder):
    assert [mutant.name for mutant in find_mutants(folder)] == ["a", "b"]
    assert [mutant.name for mutant in find_mutants(folder, ["b"])] == ["b"]


def test_what_a_mutant_says(folder):
    one, other = find_mutants(folder)
    assert (one.says, one.suites, one.replaces) == ("Something is wrong.", ("one", "two"), Replaces.DECODER)
    assert (other.replaces, other.only_faults) == (Replaces.ROUTER, False)


def test_a_mutant_is_started_as_a_module_of_its_package(folder):
    assert find_mutants(folder)[0].module == (folder.parent.parent, "pkg.mutants.a")


def test_a_mutant_is_read_and_not_run(folder):
    (folder / "a.py").write_text(WHOLE + "raise SystemExit('imported')\n")
    assert find_mutants(folder)[0].name == "a"


def test_faults_make_a_mutant_too(folder):
    (folder / "a.py").write_text(WHOLE + 'DECODER_FAULTS = ("restore-empty",)\n')
    mutant = find_mutants(folder)[0]
    assert (mutant.only_faults, mutant.decoder_faults) == (True, ("restore-empty",))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('"""x."""\n', "names no suite"),
        ('SUITES = ("a",)\n', "does not say what is wrong"),
        (WHOLE + "SUITES = names()\n", r"a\.py:7: SUITES has to be a literal"),
        (WHOLE + 'SUITES = "one"\n', r"a\.py:7: SUITES has to be a tuple of words"),
        (WHOLE + 'REPLACES = "decodr"\n', "did you mean 'decoder'"),
        (WHOLE + 'REPLACES = "harness"\n', "TESTS belong to"),
        (WHOLE + 'TESTS = ("a",)\n', "TESTS belong to"),
        (WHOLE + "def\n", r"a\.py:7"),
    ],
)
def test_what_is_wrong_is_named(folder, text, problem):
    (folder / "a.py").write_text(text)
    with pytest.raises(UsageError, match=problem):
        read_mutant(folder / "a.py")


def test_a_mistyped_mutant_is_named_with_what_is_near(folder):
    (folder / "unpinned.py").write_text(WHOLE)
    with pytest.raises(UsageError, match="did you mean 'unpinned'"):
        find_mutants(folder, ["unpined"])


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UsageError, match="no folder of mutants"):
        find_mutants(tmp_path / "nowhere")
