"""A decoder that takes the request to share and is not heard of again."""

from __future__ import annotations

from fakes.fault import Fault
from fakes.point import Point
from fakes.steps import Decision, Stall


def hang(_: Decision) -> Decision:
    """The share's connection stays open without an answer; nobody connects to the router's socket.

    The decoder claims nothing. Its slot is not held meanwhile: an erase is answered. A correct router gives up at its
    share deadline, erases the slot before it uses it, and takes the state-file route.
    """
    return Stall()


FAULTS = (Fault("kvshare-hang", Point.SHARE_ASKED, hang, reports=("ddvnguyen/llama.cpp#77",)),)
