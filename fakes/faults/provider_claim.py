"""A provider whose rows are right and whose last line is not."""

from __future__ import annotations

from fakes.fault import Fault, FaultError, Value
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

    The provider claims nothing. To a correct router that is no error: the region or the file is the result.
    """
    return ClaimLine(b"prefill finished\n")


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
    Fault("provider-no-json", Point.CLAIM, no_json, reports=("1bit-MONSTER/1bit-MONSTER#1203",)),
)
