"""An engine that takes too long, or ends while it works."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import Admission, Death, TokenStep
from fakes.fault import Fault, Value, whole_number
from fakes.point import Point


def die_in_prefill(step: Admission) -> Admission:
    """The process ends when a PREFILL comes (F57).

    Nothing is claimed any more; the connections are cut. A correct router prefills elsewhere, and leaks no slot.
    """
    return replace(step, death=Death.EXIT)


def die_in_get(step: Admission) -> Admission:
    """The process ends when its state is asked for (F57).

    Nothing is claimed any more; the connections are cut. A correct router stores nothing and marks the engine dead.
    """
    return replace(step, death=Death.EXIT)


def die_in_decode(step: TokenStep) -> TokenStep:
    """The process ends at a token of a reply, the first unless `only=` says another (F57).

    Nothing is claimed any more; what came of the reply was true. A correct router tells its client of an error, sends
    no end line, and marks what the engine held as lost.
    """
    return replace(step, death=Death.EXIT)


def die_and_return_empty(step: Admission) -> Admission:
    """The process ends when a PREFILL or DECODE comes and is back at once, with empty slots (F57).

    The engine claims, once it is back, to be as ready as it was. A correct router finds nothing warm there and restores
    from where it has it.
    """
    return replace(step, death=Death.RETURN)


def slow_prefill(step: Admission, milliseconds: int) -> Admission:
    """PREFILL takes its time before it begins (F60).

    The engine claims nothing until then, and then the truth. A correct router waits as long as it said, falls back
    once, and never runs it twice.
    """
    return replace(step, delay_s=milliseconds / 1000)


FAULTS = (
    Fault(
        "engine-die-in-prefill",
        Point.ENGINE_ADMIT,
        die_in_prefill,
        ops=("PREFILL",),
        reports=("ai-dynamo/dynamo#13088",),
    ),
    Fault("engine-die-in-get", Point.ENGINE_ADMIT, die_in_get, ops=("STATE_GET",), reports=("ai-dynamo/dynamo#13088",)),
    Fault(
        "engine-die-in-decode",
        Point.ENGINE_TOKEN,
        die_in_decode,
        reports=("lemonade-sdk/lemonade#1836", "ai-dynamo/dynamo#13088"),
    ),
    Fault(
        "engine-die-and-return-empty",
        Point.ENGINE_ADMIT,
        die_and_return_empty,
        ops=("PREFILL", "DECODE"),
        reports=("ai-dynamo/dynamo#13088", "ollama/ollama#17516"),
    ),
    Fault(
        "engine-slow-prefill",
        Point.ENGINE_ADMIT,
        slow_prefill,
        Value(whole_number(1, 3_600_000), 181_000, "ms it takes"),
        ops=("PREFILL",),
        reports=("ai-dynamo/dynamo#13691",),
    ),
)
