"""What a decoder answers about streams that outlive their clients: look-up, replay, end."""

from __future__ import annotations

import re

from fakes.api_error import ApiError
from fakes.asked import Asked
from fakes.body import parse_body
from fakes.conversations import HEADER
from fakes.effects import Flow, Reply
from fakes.http1 import Request
from fakes.machine import Machine
from fakes.replies import to_json

_OFFSET = re.compile(r"\s*\+?(\d{1,18})")


def outlives(request: Request) -> bool:
    """Whether this completion is to go on when its client has left."""
    return bool(request.headers.get(HEADER)) and Asked(request).stream


def resumable(machine: Machine, request: Request, flow: Flow) -> Flow:
    """The flow of a completion for its client, who may leave and come back."""
    return (yield from machine.conversations.begin(request.headers[HEADER], flow, machine.orphan))


def look_up(machine: Machine, request: Request) -> Reply:
    """POST /v1/streams/lookup: of the conversations that are asked for, those there are."""
    try:
        names = parse_body(request.body).get("conversation_ids")
    except ApiError as error:
        if error.message.startswith("[json.exception.type_error"):
            return Reply(200, b"[]")
        refused = {"message": f"invalid body: {error.message}", "type": error.error["type"]}
        return Reply(400, to_json({"error": refused}))
    asked = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    found = (machine.conversations.find(name) for name in asked)
    return Reply(200, to_json([each.to_json() for each in found if each is not None]))


def replay(machine: Machine, request: Request) -> Flow:
    """GET /v1/stream?conv_id=NAME&from=BYTE."""
    found = machine.conversations.find(_named(request))
    if found is None:
        raise ApiError(404, "File Not Found", early=True)
    offset = _OFFSET.match(request.query.get("from") or "0")
    if offset is None:
        raise ApiError(400, "Invalid 'from' offset")
    return (yield from found.follow(int(offset[1])))


def end(machine: Machine, request: Request) -> Reply:
    """DELETE /v1/stream?conv_id=NAME."""
    machine.conversations.end(_named(request))
    return Reply(204, b"", "application/json")


def _named(request: Request) -> str:
    name = request.query.get("conv_id")
    if not name:
        raise ApiError(400, "Missing conversation id in path")
    return name
