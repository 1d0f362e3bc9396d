"""What a fault is, and the one player that plays all of them.

A fault is a pure function from the honest step to the faulty one, at one point. The player counts how often the
point was reached and how often the fault fired, keeps to its limit, and journals every firing, so that a fault
cannot be forgotten, mistimed or silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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
    """What may stand behind `NAME=`: how it is read, what it is when left out, and what it means.

    Where `default` is None it cannot be left out.
    """

    read: Callable[[str], Any]
    default: Any
    means: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, at one point. The docstring of `play` is the fault's description.

    `play` takes the step, and the value as well when there is one. `reports` are public reports it stands for. `ops`
    are the operations that reach it where steps of several come by its point; empty is all. `fits` says which steps it
    can do anything to.
    """

    name: str
    point: Point
    play: Callable[..., Any]
    value: Value | None = None
    reports: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    fits: Callable[[Any], bool] | None = None

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


def more_or_less(most: int) -> Callable[[str], int]:
    """Reads a whole number of at most `most`, a minus allowed, and not 0."""

    def read(text: str) -> int:
        number = whole_number(-most, most)(text)
        if number == 0:
            raise FaultError("0 changes nothing")
        return number

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


class Context(Protocol):
    """Who reaches a point, as limits see it; see `fakes.asked`."""

    @property
    def op(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def named_slot(self) -> int | None: ...
    @property
    def stream(self) -> bool: ...
    @property
    def text(self) -> str: ...
    @property
    def scope(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class When:
    """Which steps reach a point at all: of one operation, path, slot, text or scope, streamed or not.

    What has no such thing, as a share has no text, does not reach it. `path` may end in `*`. A scope is a word that a
    request has in its header or anywhere in its prompt.
    """

    op: str | None = None
    slot: int | None = None
    path: str | None = None
    stream: bool | None = None
    text: str | None = None
    scope: str | None = None

    def concerns(self, step: object, asked: Context | None) -> bool:
        if self == _ALWAYS:
            return True
        if self.op is not None and _of(step, "op", asked) != self.op:
            return False
        if self.slot is not None and self.slot not in (
            getattr(step, "slot", None),
            None if asked is None else asked.named_slot,
        ):
            return False
        if all(one is None for one in (self.path, self.stream, self.text, self.scope)):
            return True
        return asked is not None and self._is_asked(asked)

    def _is_asked(self, asked: Context) -> bool:
        return (
            (self.path is None or _path_fits(self.path, asked.path))
            and (self.stream is None or self.stream == asked.stream)
            and (self.text is None or self.text in asked.text)
            and (self.scope is None or self.scope == asked.scope or self.scope in asked.text)
        )


_ALWAYS = When()


def _of(step: object, name: str, asked: Context | None) -> Any:
    value = getattr(step, name, None)
    return getattr(asked, name, None) if value is None else value


def _path_fits(wanted: str, path: str) -> bool:
    return path.startswith(wanted[:-1]) if wanted.endswith("*") else path == wanted


@dataclass(frozen=True, slots=True)
class Limit:
    """When a fault fires: only the n-th time its point is reached, every n-th, the first n times, with probability p.

    All that is given has to hold. `when` narrows the point itself: what it leaves out does not reach it.
    """

    only: int | None = None
    p: float | None = None
    seed: int = 0
    first: int | None = None
    every: int | None = None
    when: When = _ALWAYS


_NO_LIMIT = Limit()


@dataclass(slots=True)
class Armed:
    """A fault that is switched on, with what it has done so far.

    `turn` says the how-manieth reaching it is, of all processes that play it; None where there is but this one.
    """

    fault: Fault
    value: Any = None
    limit: Limit = Limit()
    reached: int = 0
    fired: int = 0
    turn: Callable[[str], int] | None = None
    _random: Random = field(init=False)
    _drawn: int = 0

    def __post_init__(self) -> None:
        self._random = Random(f"{self.limit.seed}:{self.fault.name}")

    def concerns(self, point: Point, step: object, asked: Context | None = None) -> bool:
        """Whether `step` reaches this fault's point at all."""
        if self.fault.point is not point or (self.fault.ops and _of(step, "op", asked) not in self.fault.ops):
            return False
        return self.limit.when.concerns(step, asked) and (self.fault.fits is None or self.fault.fits(step))

    def due(self) -> bool:
        """Whether it fires at this reaching of its point."""
        self.reached += 1
        if self.limit == _NO_LIMIT:
            return True
        number = self.reached if self.turn is None else self.turn(self.fault.name)
        if self.limit.only is not None and number != self.limit.only:
            return False
        if self.limit.first is not None and number > self.limit.first:
            return False
        if self.limit.every is not None and number % self.limit.every:
            return False
        return self.limit.p is None or self._draw(number) < self.limit.p

    def _draw(self, number: int) -> float:
        """The `number`-th draw, of at least this many."""
        for _ in range(self._drawn, number - 1):
            self._random.random()
        self._drawn = number
        return self._random.random()

    def play(self, step: S) -> S:
        played: S = self.fault.play(step) if self.fault.value is None else self.fault.play(step, self.value)
        return played


class Writes(Protocol):
    """The journal, as far as the player needs it."""

    def write(self, event: str, **fields: Any) -> None: ...


class Player:
    """Plays the faults that are armed. Shared by all requests of a fake.

    One fault may be armed several times, each time for other steps: that is how tests share a fake.
    """

    def __init__(self, journal: Writes, armed: Iterable[Armed] = ()) -> None:
        self._journal = journal
        self._armed: dict[tuple[str, When], Armed] = {}
        self.changed: Callable[[], object] = lambda: None
        """Called after faults were switched on or off."""
        for one in armed:
            self._armed[one.fault.name, one.limit.when] = one

    @property
    def idle(self) -> bool:
        """Whether no fault is armed."""
        return not self._armed

    def arm(self, armed: Armed) -> None:
        """Switch a fault on, afresh if it is on already for the same steps."""
        self._armed[armed.fault.name, armed.limit.when] = armed
        self.changed()

    def disarm(self, name: str, scope: str | None = None) -> None:
        """Switch a fault off, of one scope or wherever it is on. FaultError when it is not on."""
        found = [key for key in self._armed if key[0] == name and scope in (None, key[1].scope)]
        if not found:
            raise FaultError(f"fault {name!r} is not set{near(name, {key[0] for key in self._armed})}")
        for key in found:
            del self._armed[key]
        self.changed()

    def clear(self, scope: str | None = None) -> None:
        """Switch off every fault, or every one of a scope."""
        for key in [key for key in self._armed if scope in (None, key[1].scope)]:
            del self._armed[key]
        self.changed()

    def counts(self, scope: str | None = None) -> dict[str, dict[str, int]]:
        """How often each armed fault's point was reached and how often it fired; `scope` picks its own."""
        found: dict[str, dict[str, int]] = {}
        for (name, when), one in self._armed.items():
            if scope in (None, when.scope):
                counted = found.setdefault(name, {"reached": 0, "fired": 0})
                counted["reached"] += one.reached
                counted["fired"] += one.fired
        return found

    def at(self, point: Point, step: S, asked: Context | None = None) -> S:
        """The step that is really done at `point`: `step` itself where no fault fires."""
        if not self._armed:
            return step
        for one in list(self._armed.values()):
            if one.concerns(point, step, asked) and one.due():
                step = self._play(one, point, step, asked)
        return step

    def _play(self, one: Armed, point: Point, step: S, asked: Context | None) -> S:
        played = one.play(step)
        told: dict[str, Any] = {} if asked is None or asked.scope is None else {"scope": asked.scope}
        if played == step:
            self._journal.write("fault_no_effect", name=one.fault.name, point=point.value, **told)
            return step
        one.fired += 1
        told |= {"reached": one.reached, "fired": one.fired}
        self._journal.write("fault", name=one.fault.name, point=point.value, **told)
        return played
