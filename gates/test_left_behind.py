"""What a build leaves behind is found, named, and makes the run fail; and nothing is found where nothing is left."""

import sys
from dataclasses import replace

import pytest

from gates.commands import ROOT, kvgate
from harness.profiles import KVGATE_ROUTER, Build
from harness.result import Status
from harness.runner import run_scenario
from harness.scenario_file import load

SCENARIO = ROOT / "scenarios" / "hybrid_route" / "short_prompt.yaml"
PROXY = (sys.executable, "-m", "gates.peers.leaky_router")


def run(session, folder, *command):
    scenario = replace(load(SCENARIO), provider=None, checks=load(SCENARIO).checks[:1])
    build = Build("build", command, KVGATE_ROUTER, {"PYTHONPATH": str(ROOT)})
    return run_scenario(scenario, build, folder=folder, session=session)


LEFT = {
    "memfd": "1 more memory descriptor (memfd) open than when it was ready",
    "file": "the file state-",
    "socket": "the socket s in the temporary folder was left",
    "process": "(sleep 600) was left",
    "crash": "the build exited with status 7",
    "bad end": "the build exited with status 9 when it was asked to end",
    "deaf": "did not end when asked to, and was killed",
}


@pytest.mark.parametrize("what", LEFT)
def test_what_is_left_is_a_finding_beside_checks_that_are_ok(session, tmp_path, what):
    result = run(session, tmp_path, *PROXY, what)
    assert [check.status for check in result.checks] == [Status.OK]
    assert any(LEFT[what] in found for found in result.left_behind), result.left_behind
    assert result.status is Status.FAIL


def test_a_clean_build_leaves_nothing(session, tmp_path):
    result = run(session, tmp_path, *PROXY, "nothing")
    assert result.left_behind == ()
    assert result.status is Status.OK


def test_a_finding_is_shown_and_is_no_check(tmp_path):
    command = " ".join((*PROXY, "file"))
    ended = kvgate("run", str(SCENARIO), "--router", command, "--check", "the short prompt is answered",
                   "--runs", str(tmp_path), PYTHONPATH=str(ROOT))  # fmt: skip
    assert ended.status == 1
    assert "FAIL  nothing is left behind" in ended.out
    assert "1 ok" in ended.out.splitlines()[-1]
