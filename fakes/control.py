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

from array import array
from collections.abc import Callable
from typing import Any

from fakes.api_error import ApiError
from fakes.body import Body, integer, parse_body, string
from fakes.catalogue import faults_of
from fakes.effects import Flow, Reply
from fakes.fault import FaultError, parse_setting
from fakes.http1 import Request
from fakes.machine import Machine
from fakes.near import near
from fakes.point import Point
from fakes.replies import to_json
from fakes.slots import Move


def control(machine: Machine, request: Request) -> Flow:
    """One call. ApiError: what is wrong with it."""
    answer = _CALLS.get((request.method, request.path))
    if answer is None:
        known = [f"{method} {path}" for method, path in _CALLS]
        raise ApiError(404, f"no call {request.method} {request.path}{near(f'{request.method} {request.path}', known)}")
    body = parse_body(request.body) if request.body else {}
    return Reply(200, to_json(answer(machine, body)))
    yield


def _state(machine: Machine, _: Body) -> Any:
    slots = [
        {"id": slot.id, "state": slot.state.value, "n_tokens": len(slot.tokens), "share_id": slot.share_id}
        for slot in machine.slots
    ]
    return {
        "loading": machine.loading,
        "slots": slots,
        "deferred": len(machine.scheduler.deferred),
        "faults": machine.player.counts(),
        "held": machine.holds.points,
    }


def _journal(machine: Machine, _: Body) -> Any:
    return {"entries": list(machine.journal.kept or ())}


def _points(_: Machine, __: Body) -> Any:
    return {"points": [point.value for point in Point]}


def _faults(machine: Machine, body: Body) -> Any:
    clear = body.get("clear", [])
    try:
        armed = [parse_setting(str(text), faults_of("decoder")) for text in body.get("set", [])]
        if clear is True:
            machine.player.clear()
        else:
            for name in clear:
                machine.player.disarm(str(name))
    except (FaultError, TypeError) as error:
        raise ApiError(400, str(error)) from None
    for one in armed:
        machine.player.arm(one)
    return {"faults": machine.player.counts()}


def _point(body: Body) -> Point:
    name = string(body, "point")
    try:
        point = Point(name)
    except ValueError:
        raise ApiError(400, f"no point is called {name!r}{near(name, [point.value for point in Point])}") from None
    if point.who != "decoder":
        raise ApiError(400, f"point {name} is a {point.who}'s")
    return point


def _hold(machine: Machine, body: Body) -> Any:
    machine.holds.hold(_point(body), integer(body, "at", 1, 1))
    return {"held": machine.holds.points}


def _release(machine: Machine, body: Body) -> Any:
    return {"released": machine.holds.release(_point(body)), "held": machine.holds.points}


def _reset(machine: Machine, _: Body) -> Any:
    machine.player.clear()
    machine.holds.release_all()
    for slot in machine.slots:
        if machine.scheduler.holder(slot) is None:
            slot.move(Move.ERASE)
            slot.tokens = array("i")
    machine.journal.write("reset")
    return {}


_CALLS: dict[tuple[str, str], Callable[[Machine, Body], Any]] = {
    ("GET", "/state"): _state,
    ("GET", "/journal"): _journal,
    ("GET", "/points"): _points,
    ("POST", "/faults"): _faults,
    ("POST", "/hold"): _hold,
    ("POST", "/release"): _release,
    ("POST", "/reset"): _reset,
}
