"""A provider whose rows are right and whose last line is not."""

from __future__ import annotations

from dataclasses import replace

from fakes.fault import Fault, FaultError, Value, whole_number
from fakes.point import Point
from fakes.steps import ClaimLine


def claim(_: ClaimLine, value: str) -> ClaimLine:
    """All rows are written; the last line says `n_tokens` with the given text in place of the number.

    The provider claims something no count can be: less than none, a fraction, a text, more than was asked for. A
    correct router neither wraps nor rounds it: it names the claim, adopts nothing, and lets the decoder prefill.
    """
    return ClaimLine(b'{"n_tokens": ' + value.encode() + b', "prefill_ms": 0}\n')


def no_json(_: ClaimLine) -> ClaimLine:
    """All rows are written; the last line is a sentence and no JSON.

    The provider claims nothing. A correct router takes that for no error: the region or the file is the result.
    """
    return ClaimLine(b"prefill finished\n")


def noise(claim_line: ClaimLine, count: int) -> ClaimLine:
    """All rows are written; so many bytes of other lines stand before the claim, and blank lines behind it.

    The provider claims what is true, among chatter. A correct router reads on without end of its memory and takes the
    last line that is not blank.
    """
    lines = (b"loading tensors ..........\n" * (count // 27 + 1))[-count:]
    return replace(claim_line, line=lines + b"\n" + claim_line.line + b"\n \n\n")


def long_line(claim_line: ClaimLine, count: int) -> ClaimLine:
    """All rows are written; the claim is one line of so many bytes, most of them an unknown field.

    The provider claims what is true, at length. A correct router reads lines up to its limit of 64 KiB and takes no
    longer one for a claim: the region or the file is the result then, as without any.
    """
    head, _, _ = claim_line.line.rpartition(b"}")
    return replace(claim_line, line=head + b', "filler": "' + b"x" * count + b'"}\n')


def loud(claim_line: ClaimLine, count: int) -> ClaimLine:
    """All rows are written and claimed, behind so many bytes on stderr.

    The provider claims what is true. A correct router reads both outputs, so that neither fills up and holds the
    provider for ever, and keeps its own log readable.
    """
    return replace(claim_line, stderr_bytes=count)


def _one_line(text: str) -> str:
    if "\n" in text or "\r" in text or not text:
        raise FaultError("a claim is one line of text")
    return text


FAULTS = (
    Fault(
        "provider-claim",
        Point.CLAIM,
        claim,
        Value(_one_line, "-1", 'the text in place of the number: -1, 29.5, 1e30, "30", true, NaN'),
        ("1bit-MONSTER/1bit-MONSTER#1203",),
    ),
    Fault(
        "provider-noise",
        Point.CLAIM,
        noise,
        Value(whole_number(1, 1 << 26), 1 << 20, "bytes of other lines"),
        ("1bit-MONSTER/1bit-MONSTER#1203",),
    ),
    Fault(
        "provider-long-line",
        Point.CLAIM,
        long_line,
        Value(whole_number(1, 1 << 26), 1 << 17, "bytes in the field"),
        ("1bit-MONSTER/1bit-MONSTER#1203",),
    ),
    Fault(
        "provider-loud",
        Point.CLAIM,
        loud,
        Value(whole_number(100, 1 << 26), 1 << 20, "bytes on stderr"),
        ("1bit-MONSTER/1bit-MONSTER#1203",),
    ),
    Fault("provider-no-json", Point.CLAIM, no_json, reports=("1bit-MONSTER/1bit-MONSTER#1203",)),
)
