"""The control endpoint: what a test asks and tells a running fake over a Unix socket, HTTP and JSON.

GET  /state      slots, faults and their counts, held points
GET  /journal    the last entries; ?event=NAME only these, ?after=SEQ only later ones
GET  /points     every point there is
POST /faults     {"set": ["NAME=VALUE", ...], "clear": ["NAME", ...]}; "clear": true clears all
POST /hold       {"point": P, "at": k, "when": {...}}: hold whoever reaches P, from the k-th reaching on
POST /release    {"point": P}
POST /reset      no faults, nothing held, empty slots

A call with the header `X-Fake-Scope: WORD` is one test's among several: what it sets and holds concerns only requests
with that word in the same header or in their prompt, and what it clears, releases, resets and reads is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fakes.api_error import ApiError
from fakes.asked import SCOPE_HEADER
from fakes.body import Body, integer, parse_body, string
from fakes.catalogue import faults_of
from fakes.effects import Flow, Reply
from fakes.fault import Armed, FaultError, Player, When
from fakes.fault_setting import parse_setting, read_when
from fakes.hold import Holds
from fakes.http1 import Request
from fakes.journal import EVENTS, Journal
from fakes.near import near
from fakes.point import Point
from fakes.replies import to_json


def _has_scope(entry: Mapping[str, Any], scope: str) -> bool:
    return entry.get("scope") == scope


@dataclass(frozen=True, slots=True)
class Controlled:
    """A fake as its control endpoint sees it. `state` is its own part of `/state`, `reset` empties idle slots.

    `is_of` says whether a journal's entry is about a scope.
    """

    who: str
    journal: Journal
    player: Player
    holds: Holds
    state: Callable[[], dict[str, Any]]
    reset: Callable[[], None]
    is_of: Callable[[Mapping[str, Any], str], bool] = _has_scope


@dataclass(frozen=True, slots=True)
class _Call:
    """One call, for a scope or, with None, for all."""

    fake: Controlled
    request: Request
    body: Body
    scope: str | None


def control(fake: Controlled, request: Request) -> Flow:
    """One call. ApiError: what is wrong with it."""
    answer = _CALLS.get((request.method, request.path))
    if answer is None:
        known = [f"{method} {path}" for method, path in _CALLS]
        raise ApiError(404, f"no call {request.method} {request.path}{near(f'{request.method} {request.path}', known)}")
    body = parse_body(request.body) if request.body else {}
    _refuse_unknown(f"{request.method} {request.path}", (*body, *request.query))
    return Reply(200, to_json(answer(_Call(fake, request, body, request.headers.get(SCOPE_HEADER)))))
    yield


_TAKES = {
    "GET /journal": ("event", "after"),
    "POST /faults": ("set", "clear"),
    "POST /hold": ("point", "at", "when"),
    "POST /release": ("point",),
}


def _refuse_unknown(call: str, names: Sequence[str]) -> None:
    """ApiError: something is said that nobody listens to."""
    known = _TAKES.get(call, ())
    for name in names:
        if name not in known:
            what = near(name, known) if known else "; it takes nothing"
            raise ApiError(400, f"{call} takes no {name!r}{what}")


def _state(call: _Call) -> Any:
    return call.fake.state() | {
        "faults": call.fake.player.counts(call.scope),
        "held": call.fake.holds.points_of(call.scope),
    }


def _journal(call: _Call) -> Any:
    event, after = call.request.query.get("event"), call.request.query.get("after", "0")
    if event is not None and event not in EVENTS:
        raise ApiError(400, f"no journal has an event {event!r}{near(event, EVENTS)}")
    if not after.isdecimal():
        raise ApiError(400, f"after={after} is no number of an entry")
    entries = [
        entry
        for entry in call.fake.journal.kept or ()
        if event in (None, entry["event"])
        and entry["seq"] > int(after)
        and (call.scope is None or call.fake.is_of(entry, call.scope))
    ]
    return {"entries": entries}


def _points(_: _Call) -> Any:
    return {"points": [point.value for point in Point]}


def _faults(call: _Call) -> Any:
    player, clear = call.fake.player, call.body.get("clear", [])
    try:
        armed = [_own(call, parse_setting(str(text), faults_of(call.fake.who))) for text in call.body.get("set", [])]
        if clear is True:
            player.clear(call.scope)
        else:
            for name in clear:
                player.disarm(str(name), call.scope)
    except (FaultError, TypeError) as error:
        raise ApiError(400, str(error)) from None
    for one in armed:
        player.arm(one)
    return {"faults": player.counts(call.scope)}


def _own(call: _Call, armed: Armed) -> Armed:
    """The fault as this call may set it: a scope's only for its own requests."""
    when = _scoped(call, armed.fault.point, armed.limit.when)
    return replace(armed, limit=replace(armed.limit, when=when))


def _scoped(call: _Call, point: Point, when: When) -> When:
    if call.scope is None:
        return when
    if not point.meets_a_request:
        raise FaultError(f"{point.value} meets no request, so what is set there would be everybody's")
    if when.scope not in (None, call.scope):
        raise FaultError(f"scope={when.scope} in a call of the scope {call.scope}")
    return replace(when, scope=call.scope)


def _point(call: _Call) -> Point:
    name = string(call.body, "point")
    try:
        point = Point(name)
    except ValueError:
        raise ApiError(400, f"no point is called {name!r}{near(name, [point.value for point in Point])}") from None
    if point.who != call.fake.who:
        raise ApiError(400, f"point {name} is a {point.who}'s")
    return point


def _hold(call: _Call) -> Any:
    point = _point(call)
    if not point.can_be_held:
        raise ApiError(400, f"nobody can be held at {point.value}: it is passed without waiting")
    texts = call.body.get("when", {})
    if not isinstance(texts, dict):
        raise ApiError(400, 'when is an object of texts, as in {"op": "share"}')
    try:
        when = _scoped(call, point, read_when({str(name): str(value) for name, value in texts.items()}))
    except FaultError as error:
        raise ApiError(400, str(error)) from None
    call.fake.holds.hold(point, integer(call.body, "at", 1, 1), when)
    return {"held": call.fake.holds.points_of(call.scope)}


def _release(call: _Call) -> Any:
    released = call.fake.holds.release(_point(call), call.scope)
    return {"released": released, "held": call.fake.holds.points_of(call.scope)}


def _reset(call: _Call) -> Any:
    call.fake.player.clear(call.scope)
    call.fake.holds.release_all(call.scope)
    if call.scope is None:
        call.fake.reset()
        call.fake.journal.write("reset")
    else:
        call.fake.journal.write("reset", scope=call.scope)
    return {}


_CALLS: dict[tuple[str, str], Callable[[_Call], Any]] = {
    ("GET", "/state"): _state,
    ("GET", "/journal"): _journal,
    ("GET", "/points"): _points,
    ("POST", "/faults"): _faults,
    ("POST", "/hold"): _hold,
    ("POST", "/release"): _release,
    ("POST", "/reset"): _reset,
}
