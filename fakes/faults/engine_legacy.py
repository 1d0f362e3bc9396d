"""An engine of an older generation whose DECODE frames are wrong, or whose text just stops."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import LegacyReply, RpcAnswer
from fakes.fault import Fault, Value, one_of, whole_number
from fakes.point import Point
from wire.decode_legacy import FRAME_BYTES, PieceDecoder, encode_piece

_LAST_FLAG = -1


def stream_no_end(step: LegacyReply, k: int) -> LegacyReply:
    """k pieces of text, and then nothing on an open connection: a failure that looks like an end (F40).

    The engine claims to be still at it, for this generation has no other way to say that it failed. A correct router
    has a rule for silence and does not hang.
    """
    pieces = PieceDecoder().receive(step.data)
    return replace(step, data=b"".join(map(encode_piece, pieces[:k])))


def frame_split(step: RpcAnswer) -> RpcAnswer:
    """Frames and length fields arrive three bytes at a time (F41).

    All that is claimed is true. A correct router puts them together.
    """
    return replace(step, piece_bytes=3)


def frame_bad(step: LegacyReply, how: str) -> LegacyReply:
    """The frames are no whole number of nine bytes, or the final flag is on none of them or on two (F42).

    The engine claims OK, and a count of frames or an end that contradicts itself. A correct router treats the reply as
    failed.
    """
    data = bytearray(step.data)
    if how == "size":
        data.append(0)
    elif how == "no-final":
        data[_LAST_FLAG] = 0
    elif len(data) >= 2 * FRAME_BYTES:
        data[FRAME_BYTES - 1] = 1
    return replace(step, data=bytes(data))


FAULTS = (
    Fault(
        "engine-stream-no-end",
        Point.ENGINE_LEGACY,
        stream_no_end,
        Value(whole_number(0, 1 << 30), 1, "pieces that are sent"),
        reports=("vllm-project/vllm-ascend#14123",),
    ),
    Fault(
        "engine-frame-split",
        Point.ENGINE_ANSWER,
        frame_split,
        ops=("DECODE",),
        reports=("vllm-project/vllm-ascend#13466",),
    ),
    Fault(
        "engine-frame-bad",
        Point.ENGINE_LEGACY,
        frame_bad,
        Value(one_of("size", "no-final", "two-final"), "size", "what is wrong"),
        reports=("BerriAI/litellm#40404",),
    ),
)
