"""What is done between a client's requests, as values, and the shapes they have in a file.

    requests:
      - {hold: decoder.token, at: 3, path: /v1/chat/completions}
      - {name: first, prompt: {tokens: 30}, stream: true}
      - {until: {decoder.held: {point: decoder.token}}}
      - {leave: first}
      - {release: decoder.token}
      - {name: idle, until: {metrics: {kvgate_requests_in_flight: 0}}}

They stand in one list with the requests and are done in its order. None waits for a reply: what has to have happened
first is said with `until`, which takes any check. An `until` that is not met in time is written down; a check looks at
it with `did`, else the run cannot be trusted.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from harness.checks.look import Check
from harness.checks.shape import CheckShape
from harness.shapes import Fields, Key, ListOf, OneOf, Seconds, Shape, Text, Whole

UNTIL_S = 5.0
SIGNALS = ("TERM", "KILL", "INT", "STOP", "CONT")


@dataclass(frozen=True, slots=True)
class Hold:
    """Whoever reaches the point is held there, from the `at`-th reaching on; with `path` only requests to it."""

    point: str
    at: int = 1
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """All who wait at the point go on, and nobody is held there any more."""

    point: str


@dataclass(frozen=True, slots=True)
class Until:
    """Waits until the check is ok on what there is so far."""

    check: Check
    deadline_s: float = UNTIL_S


@dataclass(frozen=True, slots=True)
class Leave:
    """The client of a request closes its connection."""

    request: str


@dataclass(frozen=True, slots=True)
class Send:
    """A signal to a process."""

    number: signal.Signals


@dataclass(frozen=True, slots=True)
class Start:
    """A process that has ended is started again as it was, a decoder at the same address with these faults."""

    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetFaults:
    """The faults that a fake plays from now on."""

    faults: tuple[str, ...]


Act = Hold | Release | Until | Leave | Send | Start | SetFaults


@dataclass(frozen=True, slots=True)
class Intervention:
    """One act on `who`, done when the first `before` requests have been sent."""

    act: Act
    who: str = "decoder"
    name: str = ""
    before: int = 0


_ACTS: dict[str, Key[Any]] = {
    "hold": Key(Text(means="a fake's point"), "hold a fake at this point"),
    "release": Key(Text(means="a fake's point"), "let those who are held at this point go on"),
    "until": Key(CheckShape(), "wait until this check is ok"),
    "leave": Key(Text(means="a request's name"), "the client of this request closes its connection"),
    "signal": Key(OneOf(SIGNALS), "send this signal"),
    "start": Key(ListOf(Text(means="a fault's name")), "start again what has ended, with these faults; [] is none"),
    "faults": Key(ListOf(Text(means="a fault's name")), "play these faults from now on, and no others"),
}


def _intervention(
    to: str = "decoder",
    name: str = "",
    at: int | None = None,
    path: str | None = None,
    deadline_s: float | None = None,
    **acts: Any,
) -> Intervention:
    if len(acts) != 1:
        raise ValueError(f"expected a request, or one of {', '.join(_ACTS)}")
    kind, value = next(iter(acts.items()))
    for word, said in (("at", at), ("path", path)):
        if said is not None and kind != "hold":
            raise ValueError(f"`{word}` does not go together with {kind}")
    if deadline_s is not None and kind != "until":
        raise ValueError(f"`deadline_s` does not go together with {kind}")
    act = Hold(value, at or 1, path) if kind == "hold" else _act(kind, value, deadline_s or UNTIL_S)
    return Intervention(act, to, name)


def _act(kind: str, value: Any, deadline_s: float) -> Act:
    match kind:
        case "release":
            return Release(value)
        case "until":
            return Until(value, deadline_s)
        case "leave":
            return Leave(value)
        case "signal":
            return Send(signal.Signals[f"SIG{value}"])
        case "start":
            return Start(value)
        case _:
            return SetFaults(value)


def interventions(who: tuple[str, ...]) -> Shape[Intervention]:
    """The shape of one, in a run that may have the processes `who`."""
    return Fields(
        _intervention,
        {
            **_ACTS,
            "to": Key(OneOf(who), "whom: the decoder unless said"),
            "at": Key(Whole(1), "from which reaching of the point on"),
            "path": Key(Text(means="a path"), "hold only requests to this path"),
            "name": Key(Text(r"[A-Za-z0-9_.-]+", "a name"), "how a check calls it"),
            "deadline_s": Key(Seconds(), f"{UNTIL_S:g} unless said"),
        },
    )


NAMES = frozenset(_ACTS)
"""The keys by which an intervention is told from a request."""
