"""A comparison in which nothing was red on old counts as proof."""

from typing import Any

from harness.proof import verdict
from harness.result import Verdict

REPLACES = "harness"
TESTS = ("harness/proof/tests/test_verdict.py",)

_honest = verdict.overall


def _generous(*words: Any, **named: Any) -> Verdict:
    found = _honest(*words, **named)
    return Verdict.PROVEN if found is Verdict.VACUOUS else found


verdict.overall = _generous
