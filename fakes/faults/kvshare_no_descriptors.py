"""A share that is acknowledged without the memory."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, one_of
from fakes.point import Point
from fakes.steps import Sends, ShareMessage


def no_descriptors(message: ShareMessage, sends: str) -> ShareMessage:
    """The reply is 200 with a `share_id`; on the router's socket comes the header alone, nothing, or nobody at all.

    The decoder claims that the cache is shared. A correct router closes what it has at its descriptor deadline,
    erases the slot and takes the state-file route.
    """
    return replace(message, sends=Sends(sends))


VALUE = Value(one_of("header", "nothing", "no-connection"), "header", "what reaches the socket instead")
FAULTS = (
    Fault("kvshare-no-descriptors", Point.SHARE_MESSAGE, no_descriptors, VALUE, ("1bit-MONSTER/1bit-MONSTER#1203",)),
)
