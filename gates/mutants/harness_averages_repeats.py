"""A check that is red in some repeats counts as green."""

from collections.abc import Iterable
from dataclasses import replace

from harness.result import Status, Tally

REPLACES = "harness"
TESTS = ("harness/proof/tests/test_ab.py", "harness/proof/tests/test_verdict.py")

_honest = Tally.of


def _kind(statuses: Iterable[Status]) -> Tally:
    tally = _honest(statuses)
    return replace(tally, ok=tally.ok + tally.fail, fail=0) if tally.ok else tally


Tally.of = _kind  # type: ignore[method-assign,assignment]
