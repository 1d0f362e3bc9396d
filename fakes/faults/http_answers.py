"""A decoder whose work is right and whose whole answers are not: heads and bodies of what is no stream."""

from __future__ import annotations

from dataclasses import replace

from fakes.effects import Reply
from fakes.fault import Fault, FaultError, Value, whole_number
from fakes.point import Point

_LINE_BYTES = 900


def content_type(reply: Reply, name: str) -> Reply:
    """The body is JSON as ever; the head calls it something else.

    The decoder claims another format. A correct router goes by what it can read, or names the type it cannot take; it
    does not fail later for a reason that it does not name.
    """
    return replace(reply, content_type=name)


def longer(reply: Reply, count: int) -> Reply:
    """`Content-Length` is so many bytes more than the body; then the connection is closed.

    The decoder claims a longer answer than it gives. A correct router takes the answer for cut, not for whole.
    """
    return replace(reply, length=len(reply.body) + count, headers=(*reply.headers, ("Connection", "close")))


def shorter(reply: Reply, count: int) -> Reply:
    """`Content-Length` is so many bytes less than the body; the rest comes where the next answer would begin.

    The decoder claims a shorter answer than it gives. A correct router does not read the rest as an answer to its next
    request: it fails this one, or that one, and drops the connection.
    """
    return replace(reply, length=max(0, len(reply.body) - count))


def huge_headers(reply: Reply, count: int) -> Reply:
    """So many bytes of unknown headers stand before the usual ones; everything else is right.

    The decoder claims nothing by it. A correct router takes them or refuses them by name, within its memory, and
    passes none of them on.
    """
    lines = -(-count // _LINE_BYTES)
    return replace(reply, headers=(*(("X-Filler", "x" * (_LINE_BYTES - 12)) for _ in range(lines)), *reply.headers))


def half_body(reply: Reply) -> Reply:
    """The head is right, `Content-Length` too; half of the body comes, then the connection is closed.

    The decoder claims a whole answer. A correct router takes it for cut: its client gets an error, no half JSON.
    """
    return replace(reply, body=reply.body[: len(reply.body) // 2], length=len(reply.body))


def half_json(reply: Reply) -> Reply:
    """The first half of the body is sent as if it were all: lengths agree, the JSON ends in the middle.

    The decoder claims a whole answer. A correct router finds that it is no JSON and treats the call as failed.
    """
    return replace(reply, body=reply.body[: len(reply.body) // 2])


def no_json(reply: Reply) -> Reply:
    """The status is as it was; the body is a page for people, as a proxy in between would answer.

    The decoder's side claims success in a shape that nobody asked for. A correct router treats it as malformed.
    """
    return replace(reply, body=b"<html><body>It works!</body></html>\n", content_type="text/html")


def empty(reply: Reply) -> Reply:
    """The status is as it was, and the body has no byte.

    The decoder claims success and says nothing. A correct router treats it as malformed, never as `{}`.
    """
    return replace(reply, body=b"")


def other_json(reply: Reply, text: str) -> Reply:
    """The status is as it was; the body is JSON, but of another type than an object.

    The decoder claims success. A correct router treats it as malformed and stays whole itself.
    """
    return replace(reply, body=text.encode())


def _type(text: str) -> str:
    if text == "1":
        return "text/plain"
    if not text.isprintable() or "/" not in text:
        raise FaultError(f"{text!r} is no content type")
    return text


def _text(text: str) -> str:
    return "[]" if text == "1" else text


_BYTES = whole_number(1, 1 << 30)
FAULTS = (
    Fault(
        "reply-content-type",
        Point.RESPONSE,
        content_type,
        Value(_type, "text/plain", "the content type in place of JSON's"),
        ("BerriAI/litellm#40404",),
    ),
    Fault(
        "reply-length-more",
        Point.RESPONSE,
        longer,
        Value(_BYTES, 100, "bytes too many in Content-Length"),
        ("gpustack/gpustack#5939",),
    ),
    Fault(
        "reply-length-less",
        Point.RESPONSE,
        shorter,
        Value(_BYTES, 1, "bytes too few in Content-Length"),
        ("gpustack/gpustack#5939",),
    ),
    Fault(
        "reply-huge-headers",
        Point.RESPONSE,
        huge_headers,
        Value(_BYTES, 16384, "bytes of headers"),
        ("BerriAI/litellm#38610",),
    ),
    Fault("reply-half-body", Point.RESPONSE, half_body, reports=("gpustack/gpustack#5939",)),
    Fault("reply-half-json", Point.RESPONSE, half_json, reports=("BerriAI/litellm#40404",)),
    Fault("reply-no-json", Point.RESPONSE, no_json, reports=("mostlygeek/llama-swap#946",)),
    Fault("reply-empty", Point.RESPONSE, empty, reports=("mostlygeek/llama-swap#946",)),
    Fault(
        "reply-other-json",
        Point.RESPONSE,
        other_json,
        Value(_text, "[]", "the JSON in place of the object"),
        ("ddvnguyen/llama.cpp#77",),
    ),
)
