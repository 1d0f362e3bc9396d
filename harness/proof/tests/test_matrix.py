"""The words of `kvgate matrix`: builds and scenarios told apart."""

import pytest

from harness.errors import UsageError
from harness.proof.matrix import parted


def test_builds_and_scenarios_are_told_apart():
    words = ["base=./old --port 0", "scenarios/x", "fix-1=python -m a", "all=a b=c", "suite"]
    builds = [("base", "./old --port 0"), ("fix-1", "python -m a"), ("all", "a b=c")]
    assert parted(words) == (builds, ["scenarios/x", "suite"])


def test_a_file_with_an_equals_sign_in_its_name_is_a_scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b").mkdir()
    assert parted(["a=b", "x=1", "y=2"])[1] == ["a=b"]


@pytest.mark.parametrize(
    ("words", "problem"), [(["a=x"], "got 1"), (["suite"], "got 0"), (["a=x", "a=y"], "two builds are called 'a'")]
)
def test_what_cannot_be_compared_is_refused(words, problem):
    with pytest.raises(UsageError, match=problem):
        parted(words)
