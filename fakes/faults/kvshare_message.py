"""A share whose one message, or whose reply, is not as it should be: header, descriptors, order, names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fakes.fault import Fault, Value, more_or_less, one_of, whole_number
from fakes.point import Point
from fakes.steps import Answer, Sends, ShareMessage
from wire.region import ALIGNMENT, MAX_MESSAGE_BYTES, encode_share_message

_LENGTH_BYTES = 4


def descriptors(message: ShareMessage, count: int) -> ShareMessage:
    """The header names its regions; so many descriptors too many, or too few, come with it.

    The decoder claims that every region is there. A correct router counts them, closes all that it received, erases the
    slot and takes the state-file route.
    """
    return replace(message, more_descriptors=count)


def late(message: ShareMessage, milliseconds: int) -> ShareMessage:
    """The connection to the router's socket comes so long after the share was asked for; the reply waits for it.

    The decoder is only slow. A correct router waits within its share deadline, and past it gives up, erases the slot
    and does not take descriptors that come after that.
    """
    return replace(message, late_s=milliseconds / 1000)


def after_reply(message: ShareMessage, milliseconds: int) -> ShareMessage:
    """The HTTP reply comes first, 200 with a `share_id`; header and descriptors come so long after it.

    The decoder claims what is true a moment later. A correct router takes both in either order, under one deadline.
    """
    return replace(message, after_reply=True, late_s=milliseconds / 1000)


def cut(message: ShareMessage, count: int) -> ShareMessage:
    """So many bytes of the message are sent, with all descriptors, then the connection is closed; the reply is 200.

    The decoder claims a whole share. A correct router treats it as malformed, closes what it received, erases the slot
    and takes the state-file route.
    """
    return replace(message, cut_at=count)


def length(message: ShareMessage, how: str) -> ShareMessage:
    """The length in front of the header is wrong: far over the limit, 100 bytes more than follow, or 0.

    The decoder claims a header that does not come. A correct router believes no length over 1 MiB, takes no memory for
    it, waits for no byte beyond its deadline, and treats the share as malformed.
    """
    size = len(_encoded(message))
    return replace(message, length={"over": 2 * MAX_MESSAGE_BYTES, "more": size + 100, "zero": 0}[how])


def no_json(message: ShareMessage) -> ShareMessage:
    """In place of the header stands a sentence, with a right length and all descriptors; the reply is 200.

    The decoder claims a share in no format at all. A correct router treats it as malformed, closes what it received,
    erases the slot and takes the state-file route.
    """
    return replace(message, data=b"the cache is yours")


def header(message: ShareMessage, what: str) -> ShareMessage:
    """One thing in the header is false: a layout's hash, a size beyond the memory, too few cells, or a missing key.

    The decoder claims it in good order, with all descriptors and a 200. A correct router holds hash, sizes and cells
    against each other and against the descriptors before anybody maps them, and treats the share as malformed.
    """
    value: dict[str, Any] = json.loads(_encoded(message))
    _FALSE[what](value)
    return replace(message, data=json.dumps(value).encode())


def foreign_cells(message: ShareMessage) -> ShareMessage:
    """The header names other cells than the slot's own, as many as were asked for: those behind it, or before.

    The decoder claims that they are the slot's. A correct router cannot see it; the rows land in another slot's cells,
    and the reply, made from what its own cells held, differs from the plain run's.
    """
    cells = message.header.cells
    n_cells = message.header.tensors[0].n_cells
    first = cells.first + cells.count if cells.first + 2 * cells.count <= n_cells else 0
    return replace(message, header=replace(message.header, cells=replace(cells, first=first)))


def other_share_id(answer: Answer) -> Answer:
    """Header and descriptors are right; the HTTP reply, 200, has another `share_id` than the header.

    The decoder claims one share under two names. A correct router cannot know which is meant: it treats the share as
    malformed, closes what it received, erases the slot and takes the state-file route.
    """
    if "share_id" not in answer.body:
        return answer
    return replace(answer, body={**answer.body, "share_id": f"not-{answer.body['share_id']}"})


def other_count(answer: Answer, count: int) -> Answer:
    """The HTTP reply, 200, says another `n_tokens` than was asked for, so many more or fewer; the cells are right.

    The decoder contradicts itself. A correct router goes by the cells of the header, which say how many there are, and
    is not led to write more rows than those.
    """
    if "n_tokens" not in answer.body:
        return answer
    return replace(answer, body={**answer.body, "n_tokens": answer.body["n_tokens"] + count})


def _encoded(message: ShareMessage) -> bytes:
    return encode_share_message(message.header)[_LENGTH_BYTES:]


def _false_layout(value: dict[str, Any]) -> None:
    value["regions"][0]["layout"] = "0" * 16


def _false_size(value: dict[str, Any]) -> None:
    value["regions"][0]["size"] += 256 * ALIGNMENT


def _false_cells(value: dict[str, Any]) -> None:
    value["cells"]["count"] = max(0, value["cells"]["count"] - 1)


def _missing(value: dict[str, Any]) -> None:
    del value["tensors"]


_FALSE: dict[str, Callable[[dict[str, Any]], None]] = {
    "layout": _false_layout,
    "size": _false_size,
    "cells": _false_cells,
    "missing": _missing,
}


def _sends_all(message: ShareMessage) -> bool:
    return message.sends is Sends.ALL


_MS = whole_number(0, 3_600_000)
_REPORTS = ("1bit-MONSTER/1bit-MONSTER#1203",)
FAULTS = (
    Fault(
        "kvshare-descriptors",
        Point.SHARE_MESSAGE,
        descriptors,
        Value(more_or_less(64), -1, "descriptors too many, or with a minus too few"),
        _REPORTS,
        fits=_sends_all,
    ),
    Fault(
        "kvshare-message-late",
        Point.SHARE_MESSAGE,
        late,
        Value(whole_number(1, 3_600_000), 1000, "ms before it"),
        ("vllm-project/vllm#46008",),
    ),
    Fault("kvshare-message-after", Point.SHARE_MESSAGE, after_reply, Value(_MS, 50, "ms behind the reply"), _REPORTS),
    Fault(
        "kvshare-message-cut",
        Point.SHARE_MESSAGE,
        cut,
        Value(whole_number(1, 1 << 20), 40, "bytes that are sent"),
        ("sgl-project/sglang#30233",),
    ),
    Fault(
        "kvshare-message-length",
        Point.SHARE_MESSAGE,
        length,
        Value(one_of("over", "more", "zero"), "over", "what the length says: over, more or zero"),
        _REPORTS,
    ),
    Fault("kvshare-message-text", Point.SHARE_MESSAGE, no_json, reports=_REPORTS),
    Fault(
        "kvshare-header",
        Point.SHARE_MESSAGE,
        header,
        Value(one_of(*_FALSE), "layout", "what is false: layout, size, cells or missing"),
        ("vllm-project/vllm#52234",),
    ),
    Fault("kvshare-foreign-cells", Point.SHARE_MESSAGE, foreign_cells, reports=("vllm-project/vllm#52234",)),
    Fault("kvshare-other-share-id", Point.SHARE_REPLY, other_share_id, reports=("vllm-project/vllm#52234",)),
    Fault(
        "kvshare-count",
        Point.SHARE_REPLY,
        other_count,
        Value(more_or_less(64), 1, "tokens too many, or with a minus too few"),
        ("LMCache/LMCache#4614",),
    ),
)
