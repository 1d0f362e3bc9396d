"""Items of a group stay on one worker, with the pytest and pytest-xdist that are installed together."""

import subprocess
import sys

GROUPED = """
import os
import pytest

def item(group):
    @pytest.mark.xdist_group(group)
    def test():
        with open(group, "a") as file:
            file.write(os.environ["PYTEST_XDIST_WORKER"] + " ")
    return test

for n in range(12):
    globals()[f"test_{n}"] = item("ab"[n % 2])
"""


def test_a_group_is_not_split(tmp_path):
    (tmp_path / "test_grouped.py").write_text(GROUPED)
    words = ["-m", "pytest", "-c", "/dev/null", "--rootdir", ".", "-q", "-n", "2", "--dist", "loadgroup"]
    done = subprocess.run([sys.executable, *words, "test_grouped.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    ran = [(tmp_path / group).read_text().split() for group in "ab"]
    assert [len(workers) for workers in ran] == [6, 6]
    assert [len(set(workers)) for workers in ran] == [1, 1]
