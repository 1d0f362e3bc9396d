"""The control endpoint: what a test asks and tells a running fake over a Unix socket, HTTP and JSON.

GET  /state      slots, faults and their counts, held points
GET  /journal    the last entries
GET  /points     every point there is
POST /faults     {"set": ["NAME=VALUE", ...], "clear": ["NAME", ...]}; "clear": true clears all
POST /hold       {"point": P, "at": k}: hold whoever reaches P, from the k-th reaching on
POST /release    {"point": P}
POST /reset      no faults, nothing held, empty slots
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fakes.api_error import ApiError
from fakes.body import Body, integer, parse_body, string
from fakes.catalogue import faults_of
from fakes.effects import Flow, Reply
from fakes.fault import FaultError, Player, parse_setting
from fakes.hold import Holds
from fakes.http1 import Request
from fakes.journal import Journal
from fakes.near import near
from fakes.point import Point
from fakes.replies import to_json


@dataclass(frozen=True, slots=True)
class Controlled:
    """A fake as its control endpoint sees it. `state` is its own part of `/state`, `reset` empties idle slots."""

    who: str
    journal: Journal
    player: Player
    holds: Holds
    state: Callable[[], dict[str, Any]]
    reset: Callable[[], None]


def control(fake: Controlled, request: Request) -> Flow:
    """One call. ApiError: what is wrong with it."""
    answer = _CALLS.get((request.method, request.path))
    if answer is None:
        known = [f"{method} {path}" for method, path in _CALLS]
        raise ApiError(404, f"no call {request.method} {request.path}{near(f'{request.method} {request.path}', known)}")
    body = parse_body(request.body) if request.body else {}
    return Reply(200, to_json(answer(fake, body)))
    yield


def _state(fake: Controlled, _: Body) -> Any:
    return fake.state() | {"faults": fake.player.counts(), "held": fake.holds.points}


def _journal(fake: Controlled, _: Body) -> Any:
    return {"entries": list(fake.journal.kept or ())}


def _points(_: Controlled, __: Body) -> Any:
    return {"points": [point.value for point in Point]}


def _faults(fake: Controlled, body: Body) -> Any:
    clear = body.get("clear", [])
    try:
        armed = [parse_setting(str(text), faults_of(fake.who)) for text in body.get("set", [])]
        if clear is True:
            fake.player.clear()
        else:
            for name in clear:
                fake.player.disarm(str(name))
    except (FaultError, TypeError) as error:
        raise ApiError(400, str(error)) from None
    for one in armed:
        fake.player.arm(one)
    return {"faults": fake.player.counts()}


def _point(fake: Controlled, body: Body) -> Point:
    name = string(body, "point")
    try:
        point = Point(name)
    except ValueError:
        raise ApiError(400, f"no point is called {name!r}{near(name, [point.value for point in Point])}") from None
    if point.who != fake.who:
        raise ApiError(400, f"point {name} is a {point.who}'s")
    return point


def _hold(fake: Controlled, body: Body) -> Any:
    fake.holds.hold(_point(fake, body), integer(body, "at", 1, 1))
    return {"held": fake.holds.points}


def _release(fake: Controlled, body: Body) -> Any:
    return {"released": fake.holds.release(_point(fake, body)), "held": fake.holds.points}


def _reset(fake: Controlled, _: Body) -> Any:
    fake.player.clear()
    fake.holds.release_all()
    fake.reset()
    fake.journal.write("reset")
    return {}


_CALLS: dict[tuple[str, str], Callable[[Controlled, Body], Any]] = {
    ("GET", "/state"): _state,
    ("GET", "/journal"): _journal,
    ("GET", "/points"): _points,
    ("POST", "/faults"): _faults,
    ("POST", "/hold"): _hold,
    ("POST", "/release"): _release,
    ("POST", "/reset"): _reset,
}
