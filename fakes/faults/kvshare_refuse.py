"""A decoder that does not lend its cache."""

from __future__ import annotations

from fakes.fault import Fault
from fakes.point import Point
from fakes.steps import Decision, Refuse

MESSAGE = "the KV cache of a hybrid model cannot be shared"


def refuse(_: Decision) -> Decision:
    """The share is answered 400 with an error that has only a message. Nothing is connected, no descriptor is sent.

    The decoder says plainly that it cannot. A correct router names the refusal and takes the state-file route for
    this request, so that the decoder is still spared the prompt.
    """
    return Refuse(400, MESSAGE, {"error": {"message": MESSAGE}})


FAULTS = (Fault("kvshare-refuse", Point.SHARE_ASKED, refuse, reports=("1bit-MONSTER/1bit-MONSTER#1203",)),)
