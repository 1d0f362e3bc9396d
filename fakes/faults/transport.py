"""Connections that are not taken, and bytes that do not come as they should, of whatever answer, streamed or not."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, Value, one_of, whole_number
from fakes.point import Point
from fakes.steps import Accepted, Halt, Listening, Sending, Welcome

_CHUNK_S = 0.02


def refuse(step: Listening) -> Listening:
    """The port takes no connection while this is on: whoever connects is refused. Open connections go on.

    The decoder is not there. A correct router answers 503 and makes no second attempt by another route; it finds the
    decoder again when this is switched off.
    """
    return replace(step, open=False)


def hold(step: Accepted) -> Accepted:
    """The connection is taken and nothing is read from it or said on it; it stays open.

    The decoder claims to be there. A correct router gives up at its deadline for the step, and its count of what is
    in flight goes back to zero.
    """
    return replace(step, welcome=Welcome.HOLD)


def drop(step: Accepted, how: str) -> Accepted:
    """The connection is taken and ended at once, by a reset or by a close, before a request was read.

    Nothing was begun. A correct router may try once more, for it can prove that nothing was done, and then says so.
    """
    return replace(step, welcome=Welcome(how))


def cut(step: Sending, count: int, halt: Halt) -> Sending:
    return replace(step, stop_at=count, halt=halt)


def reset_at(step: Sending, count: int) -> Sending:
    """So many bytes of the answer are sent, its head counted, then the connection is reset.

    The work was done and the answer is lost on the way. A correct router neither presents what came as whole nor does
    the work a second time unasked.
    """
    return cut(step, count, Halt.RESET)


def close_at(step: Sending, count: int) -> Sending:
    """So many bytes of the answer are sent, its head counted, then the connection is closed without a word.

    The end of the connection looks like an end. A correct router knows by length, last chunk or end mark that it is
    none.
    """
    return cut(step, count, Halt.CLOSE)


def stall_at(step: Sending, count: int) -> Sending:
    """So many bytes of the answer are sent, its head counted, then nothing more; the connection stays open.

    The decoder claims to be still at it. A correct router ends the wait at its limit for silence.
    """
    return cut(step, count, Halt.STALL)


def drip(step: Sending, milliseconds: int) -> Sending:
    """The answer comes one byte at a time, with a pause after each.

    All is right, only slow. A correct router waits for a byte at a time without turning over the work, and its limit
    for the whole request still holds.
    """
    return replace(step, piece_bytes=1, gap_s=milliseconds / 1000)


def slow_head(step: Sending, milliseconds: int) -> Sending:
    """The head of the answer comes one byte at a time, with a pause after each; the rest comes at once.

    All is right, only slow. A correct router's limit for the first byte counts until there is an answer, not until
    there is a byte of a head.
    """
    return replace(step, piece_bytes=1, gap_s=milliseconds / 1000, head_only=True)


def bandwidth(step: Sending, per_second: int) -> Sending:
    """The answer comes at so many bytes a second.

    All is right, only slow. A correct router holds back the decoder, not the answer in its memory.
    """
    return replace(step, piece_bytes=max(1, int(per_second * _CHUNK_S)), gap_s=_CHUNK_S)


def pieces(step: Sending, count: int) -> Sending:
    """The answer comes in pieces of so many bytes, wherever that cuts heads, lines, chunks and characters.

    All is right. A correct router's answer does not depend on how the bytes were cut up on the way.
    """
    return replace(step, piece_bytes=count, gap_s=0.001)


def gathered(step: Sending) -> Sending:
    """Nothing is sent until the answer is complete; then all of it comes in one write, a stream's events together.

    All is right. A correct router takes apart what came together, and gives every event on.
    """
    return replace(step, gather=True)


def late(step: Sending, milliseconds: int) -> Sending:
    """The work is done, and so much later the answer begins; a stream's head comes late, its events then as ever.

    The decoder claims nothing until then. A correct router that has given up meanwhile knows that the work may have
    been done: it erases the slot first and leases it to nobody before that is answered.
    """
    return replace(step, late_s=milliseconds / 1000)


_COUNT = Value(whole_number(1, 1 << 30), 100, "bytes that are sent")
_NOTHING_TOO = Value(whole_number(0, 1 << 30), 100, "bytes that are sent")
_GAP = Value(whole_number(1, 60_000), 1, "ms after each byte")
_CUT = ("gpustack/gpustack#5939", "BerriAI/litellm#40404")
_SLOW = ("vllm-project/vllm-ascend#14123",)
_CHUNKS = ("vllm-project/vllm-ascend#13466",)
FAULTS = (
    Fault("connect-refuse", Point.LISTEN, refuse, reports=("sgl-project/sglang#29482", "ai-dynamo/dynamo#13088")),
    Fault("connect-hold", Point.ACCEPT, hold, reports=("vllm-project/vllm-ascend#14123", "ollama/ollama#15950")),
    Fault(
        "connect-drop",
        Point.ACCEPT,
        drop,
        Value(one_of("reset", "close"), "reset", "how the connection ends"),
        ("sgl-project/sglang#29482", "llm-d/llm-d-router#1206"),
    ),
    Fault("send-reset", Point.SENDING, reset_at, _NOTHING_TOO, ("sgl-project/sglang#34570", *_CUT)),
    Fault("send-close", Point.SENDING, close_at, _NOTHING_TOO, _CUT),
    Fault("send-stall", Point.SENDING, stall_at, _COUNT, _SLOW),
    Fault("send-drip", Point.SENDING, drip, _GAP, _SLOW),
    Fault("send-slow-head", Point.SENDING, slow_head, _GAP, _SLOW),
    Fault(
        "send-bandwidth",
        Point.SENDING,
        bandwidth,
        Value(whole_number(1, 1 << 40), 1 << 20, "bytes a second"),
        ("BerriAI/litellm#30244",),
    ),
    Fault("send-pieces", Point.SENDING, pieces, Value(whole_number(1, 1 << 30), 7, "bytes in a piece"), _CHUNKS),
    Fault(
        "reply-late",
        Point.SENDING,
        late,
        Value(whole_number(1, 3_600_000), 1000, "ms between work and answer"),
        ("vllm-project/vllm-ascend#14123", "sgl-project/sglang#24527"),
    ),
    Fault("send-gathered", Point.SENDING, gathered, reports=_CHUNKS),
)
