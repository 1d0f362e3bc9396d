"""The parts that a step's prompt is put together from, as token ids: fresh ones, or an earlier step's."""

from __future__ import annotations

from dataclasses import dataclass

from harness.shapes import Fields, Key, Shape, Text, Whole


@dataclass(frozen=True, slots=True)
class FreshPart:
    """So many token ids that no other part has."""

    tokens: int


@dataclass(frozen=True, slots=True)
class EarlierPart:
    """What an earlier step was asked (`reply` false) or answered; `first` ids of it, or all but the last `drop`."""

    step: str
    reply: bool
    first: int | None = None
    drop: int = 0


Part = FreshPart | EarlierPart


_NAME = Text(r"[A-Za-z0-9_.-]+", "a name of letters, digits, '_', '-' and '.'")


def _part(
    tokens: int | None = None,
    prompt_of: str | None = None,
    reply_of: str | None = None,
    first: int | None = None,
    drop: int = 0,
) -> Part:
    given = [each for each in (tokens, prompt_of, reply_of) if each is not None]
    if len(given) != 1:
        raise ValueError("expected one of tokens, prompt_of, reply_of")
    if tokens is not None:
        if first is not None or drop:
            raise ValueError("first and drop go with prompt_of and reply_of")
        return FreshPart(tokens)
    if first is not None and drop:
        raise ValueError("expected one of first, drop")
    return EarlierPart(str(prompt_of or reply_of), prompt_of is None, first, drop)


PART: Shape[Part] = Fields(
    _part,
    {
        "tokens": Key(Whole(1, 1_000_000), "so many fresh token ids"),
        "prompt_of": Key(_NAME, "the prompt of an earlier step"),
        "reply_of": Key(_NAME, "the reply of an earlier step"),
        "first": Key(Whole(1), "only so many of its ids"),
        "drop": Key(Whole(1), "without so many of its last ids"),
    },
)
