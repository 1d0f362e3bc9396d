"""A tenth of the large state; `python -m gates.large_state` passes 1 GiB on."""

import dataclasses

import pytest

from gates.large_state import MIB, MOST_GROWTH, findings, pass_state

TENTH_MIB = 103


@pytest.mark.parametrize("merged", [False, True], ids=["STATE_PUT", "DECODE"])
def test_large_state_passes_whole_and_is_not_held(merged):
    passed = pass_state(TENTH_MIB, merged=merged)
    assert passed.op == ("DECODE" if merged else "STATE_PUT")
    assert findings(passed, TENTH_MIB) == []
    assert MOST_GROWTH < TENTH_MIB * MIB, "a router that holds the state would not be seen"
    held = dataclasses.replace(passed, received="other", grown=TENTH_MIB * MIB, evaluated=40, reply="")
    assert len(findings(held, TENTH_MIB)) == 4
