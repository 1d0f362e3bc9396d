"""A decoder that lends its cache and then does not take what was written there."""

from __future__ import annotations

from fakes.fault import Fault
from fakes.point import Point
from fakes.steps import Decision, Refuse

MESSAGE = "Cannot adopt the shared cells: the cache has changed since it was shared"


def refuse(_: Decision) -> Decision:
    """The adopt is answered 400; the slot stays lent and its token list empty, whatever the provider wrote.

    The decoder says plainly that it adopted nothing. A correct router lets the decoder prefill the prompt itself and
    does not start a second handoff, which would prefill the prompt twice.
    """
    return Refuse(400, MESSAGE)


FAULTS = (Fault("kvshare-adopt-refuse", Point.ADOPT_ASKED, refuse, reports=("1bit-MONSTER/1bit-MONSTER#1203",)),)
