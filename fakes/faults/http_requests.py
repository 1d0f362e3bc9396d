"""A decoder that does not do what a request asks, whatever it asks: `op=`, `path=` or `slot=` say which one."""

from __future__ import annotations

import re

from fakes.fault import Fault, FaultError, Value, one_of, whole_number
from fakes.point import Point
from fakes.steps import Decision, Drop, Late, Refuse, Stall

_WORK = ("completion", "slots", "tokenize", "apply-template", "share", "adopt", "save", "restore", "erase")


def status(_: Decision, text: str) -> Decision:
    """The request is answered at once with an error of that status, in the server's own shape; nothing is done.

    With `STATUS:SECONDS` the answer carries `Retry-After`. The decoder says plainly that it did not do it. A correct
    router takes the status for what it is, does not repeat what may not be repeated, and names it.
    """
    code, _colon, seconds = text.partition(":")
    headers = (("Retry-After", seconds),) if seconds else ()
    return Refuse(int(code), f"refused with {code}, as a fault wants it", headers=headers)


def hang(_: Decision) -> Decision:
    """The request is read whole, and nothing is ever answered; the connection stays open.

    The decoder claims nothing and takes no slot. A correct router gives up at its deadline for this step, closes the
    connection, and says what it waited for.
    """
    return Stall()


def drop(_: Decision, how: str) -> Decision:
    """The request is read whole; then the connection is reset, or closed, without one byte of an answer.

    The decoder claims nothing, and nothing was done, which the router cannot know. A correct router does not send a
    completion a second time to a decoder that may have seen it, and answers in time.
    """
    return Drop(reset=how == "reset")


def late(_: Decision, milliseconds: int) -> Decision:
    """Nothing is done or answered for so long; then everything is as it should be.

    The decoder is only slow. A correct router waits while its deadline lasts, and does the work once.
    """
    return Late(milliseconds / 1000)


def wedged(_: Decision) -> Decision:
    """`/health` and `/props` answer at once; slots, slot actions, templates, tokens and completions never do.

    The decoder claims to be well. A correct router believes the work and not the health: it takes the decoder out of
    use within its limits, ends what waits for it openly, and says which call failed.
    """
    return Stall()


def _status(text: str) -> str:
    if not re.fullmatch(r"[2-5]\d\d(:\d{1,9})?", text):
        raise FaultError(f"{text!r} is no status from 200 to 599, nor STATUS:SECONDS")
    return text


def _any_status(text: str) -> str:
    return "503" if text == "1" else _status(text)


FAULTS = (
    Fault(
        "http-status",
        Point.REQUEST,
        status,
        Value(_any_status, "503", "the status, and after a colon the seconds of Retry-After"),
        ("llm-d/llm-d-router#1206", "vllm-project/vllm-ascend#9943"),
    ),
    Fault("http-hang", Point.REQUEST, hang, reports=("vllm-project/vllm-ascend#14123", "ddvnguyen/llama.cpp#77")),
    Fault(
        "http-drop",
        Point.REQUEST,
        drop,
        Value(one_of("reset", "close"), "reset", "how the connection ends"),
        ("sgl-project/sglang#34570",),
    ),
    Fault(
        "http-late",
        Point.REQUEST,
        late,
        Value(whole_number(1, 3_600_000), 1000, "ms before anything is done"),
        ("ai-dynamo/dynamo#13691",),
    ),
    Fault("http-wedged", Point.REQUEST, wedged, reports=("ggml-org/llama.cpp#27388",), ops=_WORK),
)
