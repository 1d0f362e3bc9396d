"""What a fault is, and the one player that plays all of them.

A fault is a pure function from the honest step to the faulty one, at one point. The player counts how often the
point was reached and how often the fault fired, keeps to its limit, and journals every firing, so that a fault
cannot be forgotten, mistimed or silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeVar

from fakes.near import near
from fakes.point import Point

S = TypeVar("S")


class FaultError(ValueError):
    """The author of a fault setting is to blame: an unknown name, a value that cannot be, a bad limit."""


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand behind `NAME=`: how it is read, what it is when left out, and what it means."""

    read: Callable[[str], Any]
    default: Any
    means: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, at one point. The docstring of `play` is the fault's description.

    `play` takes the step, and the value as well when there is one. `reports` are public reports it stands for. `ops`
    are the operations that reach it where steps of several come by its point; empty is all.
    """

    name: str
    point: Point
    play: Callable[..., Any]
    value: Value | None = None
    reports: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "FAKE_" + self.name.upper().replace("-", "_")


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Reads a whole number of at least `low` and at most `high`."""

    def read(text: str) -> int:
        if not re.fullmatch(r"-?\d{1,18}", text) or not low <= int(text) <= high:
            raise FaultError(f"{text!r} is no whole number from {low} to {high}")
        return int(text)

    return read


def one_of(*choices: str) -> Callable[[str], str]:
    """Reads one of the words; `1`, as an environment variable is often set, is the first of them."""

    def read(text: str) -> str:
        if text == "1":
            return choices[0]
        if text not in choices:
            raise FaultError(f"{text!r}{near(text, choices)}")
        return text

    return read


@dataclass(frozen=True, slots=True)
class Limit:
    """When a fault fires: only the n-th time its point is reached, and each time with probability `p`.

    With `first` it fires no more after so many reachings. `op` and `slot` narrow the point itself, where its steps
    have them: another operation or slot does not reach it.
    """

    only: int | None = None
    p: float | None = None
    seed: int = 0
    op: str | None = None
    slot: int | None = None
    first: int | None = None

    def concerns(self, step: object) -> bool:
        return (self.op is None or getattr(step, "op", None) == self.op) and (
            self.slot is None or getattr(step, "slot", None) == self.slot
        )


@dataclass(slots=True)
class Armed:
    """A fault that is switched on, with what it has done so far."""

    fault: Fault
    value: Any = None
    limit: Limit = Limit()
    reached: int = 0
    fired: int = 0
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(f"{self.limit.seed}:{self.fault.name}")

    def concerns(self, point: Point, step: object) -> bool:
        """Whether `step` reaches this fault's point at all."""
        if self.fault.point is not point or (self.fault.ops and getattr(step, "op", None) not in self.fault.ops):
            return False
        return self.limit.concerns(step)

    def due(self) -> bool:
        """Whether it fires at this reaching of its point."""
        self.reached += 1
        if self.limit.only is not None and self.reached != self.limit.only:
            return False
        if self.limit.first is not None and self.reached > self.limit.first:
            return False
        return self.limit.p is None or self._random.random() < self.limit.p

    def play(self, step: S) -> S:
        played: S = self.fault.play(step) if self.fault.value is None else self.fault.play(step, self.value)
        return played


class Writes(Protocol):
    """The journal, as far as the player needs it."""

    def write(self, event: str, **fields: Any) -> None: ...


class Player:
    """Plays the faults that are armed. Shared by all requests of a fake."""

    def __init__(self, journal: Writes, armed: Iterable[Armed] = ()) -> None:
        self._journal = journal
        self._armed = {one.fault.name: one for one in armed}

    def arm(self, armed: Armed) -> None:
        """Switch a fault on, afresh if it is on already."""
        self._armed[armed.fault.name] = armed

    def disarm(self, name: str) -> None:
        """Switch a fault off. FaultError when it is not on."""
        if self._armed.pop(name, None) is None:
            raise FaultError(f"fault {name!r} is not set{near(name, self._armed)}")

    def clear(self) -> None:
        self._armed.clear()

    def counts(self) -> dict[str, dict[str, int]]:
        """How often each armed fault's point was reached and how often it fired."""
        return {name: {"reached": one.reached, "fired": one.fired} for name, one in self._armed.items()}

    def at(self, point: Point, step: S) -> S:
        """The step that is really done at `point`: `step` itself where no fault fires."""
        if not self._armed:
            return step
        for name, one in self._armed.items():
            if one.concerns(point, step) and one.due():
                played = one.play(step)
                if played == step:
                    self._journal.write("fault_no_effect", name=name, point=point.value)
                    continue
                one.fired += 1
                step = played
                self._journal.write("fault", name=name, point=point.value, reached=one.reached, fired=one.fired)
        return step


_LIMIT = re.compile(r",(only|first|p|seed|op|slot)=([^,]*)$")


def parse_setting(text: str, catalogue: Mapping[str, Fault]) -> Armed:
    """`NAME[=VALUE]` and limits behind it (`,only=2,p=0.3,seed=7,op=PREFILL,slot=0`) as an armed fault.

    FaultError says what is wrong with it.
    """
    limits: dict[str, str] = {}
    rest = text
    while (found := _LIMIT.search(rest)) is not None:
        if limits.setdefault(found[1], found[2]) != found[2]:
            raise FaultError(f"{text!r} says {found[1]} twice")
        rest = rest[: found.start()]
    name, equals, value = rest.partition("=")
    fault = catalogue.get(name)
    if fault is None:
        raise FaultError(f"no fault is called {name!r}{near(name, catalogue)}")
    return Armed(fault, read_value(fault, value if equals else None), _limit(text, limits))


def read_value(fault: Fault, text: str | None) -> Any:
    """The value of a fault out of its text, None where it was left out."""
    if fault.value is None:
        if text not in (None, "1"):
            raise FaultError(f"fault {fault.name} takes no value, it was given {text!r}")
        return None
    if text is None:
        return fault.value.default
    try:
        return fault.value.read(text)
    except FaultError as error:
        raise FaultError(f"fault {fault.name}: {error}") from None


def _limit(text: str, limits: Mapping[str, str]) -> Limit:
    try:
        only = whole_number(1, 1 << 40)(limits["only"]) if "only" in limits else None
        seed = whole_number(0, 1 << 62)(limits["seed"]) if "seed" in limits else 0
        slot = whole_number(0, 1 << 20)(limits["slot"]) if "slot" in limits else None
        first = whole_number(1, 1 << 40)(limits["first"]) if "first" in limits else None
    except FaultError as error:
        raise FaultError(f"fault {text}: {error}") from None
    p = None
    if "p" in limits:
        if not re.fullmatch(r"0|1|[01]?\.\d{1,17}", limits["p"]) or float(limits["p"]) > 1:
            raise FaultError(f"fault {text}: {limits['p']!r} is no probability from 0 to 1")
        p = float(limits["p"])
    return Limit(only, p, seed, limits.get("op"), slot, first)
