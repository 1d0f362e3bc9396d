"""Two released builds and a public bug between them: the old one does not reuse restored slots, the new one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import Unavailable
from harness.models import zoo
from harness.real import find_server

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real_ab")]

OLD, NEW = "xllamacpp==2026.9.11063", "xllamacpp==2026.10.11549"
NOT_DENSE = sorted(set(zoo.ARCHITECTURES) - {"tiny-llama", "tiny-qwen3"})


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict]:
    for name in (OLD, NEW):
        try:
            find_server(name)
        except Unavailable as missing:
            if os.environ.get("KVGATE_REAL"):
                raise
            pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("ab")
    told = folder / "ab.json"
    words = ["ab", "--old", OLD, "--new", NEW, "scenarios/slot_restore", "--json", str(told), "--runs", str(folder)]
    done = subprocess.run([sys.executable, "-m", "harness.cli", *words], cwd=Path(__file__).parent.parent)
    return done.returncode, json.loads(told.read_text())


def statuses(compared: tuple[int, dict], build: str) -> dict[str, str]:
    return {check["check"]: check["status"] for check in compared[1]["checks"] if check["build"] == build}


def test_the_fix_is_proven(compared: tuple[int, dict]) -> None:
    assert (compared[0], compared[1]["verdict"]) == (0, "proven")
    assert set(statuses(compared, "new").values()) == {"ok"}


def test_exactly_the_models_that_cannot_step_back_are_red_on_the_old_build(compared: tuple[int, dict]) -> None:
    red = [check for check, status in statuses(compared, "old").items() if status == "FAIL"]
    assert sorted({check.split(",")[0] for check in red}) == NOT_DENSE
    for model in NOT_DENSE:
        assert f"{model}, a slot restored in a fresh process is reused for the same prompt" in red


def test_red_says_that_nothing_was_reused(compared: tuple[int, dict]) -> None:
    red = [check for check in compared[1]["checks"] if check["status"] == "FAIL"]
    assert len(red) == 14
    assert all("cache_n: expected at least 190, seen 0" in check["detail"] for check in red)


def test_replies_are_right_on_both_builds_all_the_same(compared: tuple[int, dict]) -> None:
    answers = [check for check in compared[1]["checks"] if " answers " in check["check"]]
    assert len(answers) == 2 * 4 * len(zoo.ARCHITECTURES)
    assert {check["status"] for check in answers} == {"ok"}
