"""A share that succeeds, with a reply that lacks its name."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault
from fakes.point import Point
from fakes.steps import Answer


def drop_share_id(answer: Answer) -> Answer:
    """Header and descriptors are sent as they should be; the HTTP reply, 200, has no `share_id`.

    The decoder claims success. A correct router treats the reply as malformed, closes what it received, erases the
    slot, whose tokens the share has emptied, and takes the state-file route.
    """
    return replace(answer, body={key: value for key, value in answer.body.items() if key != "share_id"})


FAULTS = (Fault("kvshare-no-share-id", Point.SHARE_REPLY, drop_share_id, reports=("1bit-MONSTER/1bit-MONSTER#1203",)),)
