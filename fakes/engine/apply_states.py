"""The states of a merged DECODE, as a table: what is not in it cannot happen.

The early answer goes out on RESERVED, before anything is restored; what goes wrong after it is told by the stored
entry alone. Whatever the way, FAILED and DONE have given the reservation back.
"""

from __future__ import annotations

from enum import Enum


class ApplyState(Enum):
    """Where a DECODE stands."""

    CHECKING = "checking"
    REFUSED = "refused"
    RESERVED = "reserved"
    SWAPPING = "swapping"
    GATE_B = "gate b"
    RESTORING = "restoring"
    MATCHING = "matching"
    GENERATING = "generating"
    DONE = "done"
    FAILED = "failed"


class ApplyEvent(Enum):
    """What moves it on."""

    REFUSE = "refuse"
    ACCEPT = "accept"
    SWAP = "swap"
    RESIDENT = "resident"
    PASS = "pass"
    RESTORED = "restored"
    NOTHING_TO_RESTORE = "nothing to restore"
    MATCHED = "matched"
    END = "end"
    FAIL = "fail"
    CANCEL = "cancel"


_S, _E = ApplyState, ApplyEvent

TRANSITIONS: dict[tuple[ApplyState, ApplyEvent], ApplyState] = {
    (_S.CHECKING, _E.REFUSE): _S.REFUSED,
    (_S.CHECKING, _E.ACCEPT): _S.RESERVED,
    (_S.RESERVED, _E.SWAP): _S.SWAPPING,
    (_S.RESERVED, _E.RESIDENT): _S.GATE_B,
    (_S.SWAPPING, _E.PASS): _S.GATE_B,
    (_S.GATE_B, _E.PASS): _S.RESTORING,
    (_S.RESTORING, _E.RESTORED): _S.MATCHING,
    (_S.RESTORING, _E.NOTHING_TO_RESTORE): _S.MATCHING,
    (_S.MATCHING, _E.MATCHED): _S.GENERATING,
    (_S.GENERATING, _E.END): _S.DONE,
}
_WORKING = (_S.RESERVED, _S.SWAPPING, _S.GATE_B, _S.RESTORING, _S.MATCHING, _S.GENERATING)
TRANSITIONS |= {(state, event): _S.FAILED for state in _WORKING for event in (_E.FAIL, _E.CANCEL)}

HOLDS_RESERVATION = frozenset({_S.RESERVED, _S.SWAPPING, _S.GATE_B, _S.RESTORING})
ENDED = frozenset({_S.REFUSED, _S.DONE, _S.FAILED})


def moved(state: ApplyState, event: ApplyEvent) -> ApplyState:
    """KeyError: a move that the protocol does not know, so a bug here."""
    return TRANSITIONS[state, event]
