"""`/v1/decode/{id}`: what became of an accepted DECODE, as JSON or as a stream, and its end on request."""

from __future__ import annotations

from typing import Any

from fakes.effects import END_STREAM, Await, CutConnection, Flow, Reply, StartStream, Write
from fakes.engine import completions
from fakes.engine.engine import Engine
from fakes.engine.entries import Entry, EntryState, Reading
from fakes.engine.http_completion import client_left
from fakes.engine.http_stream import Chunks
from fakes.engine.steps import EntryReply, StreamPlan, Then
from fakes.http1 import Request
from fakes.point import Point
from fakes.replies import to_json
from wire.sse import DONE, encode_event

_STATUSES = {
    Reading.UNKNOWN: 404,
    Reading.NOT_READY: 404,
    Reading.PROGRESS: 202,
    Reading.MESSAGE: 400,
    Reading.COMPLETION: 200,
}


def get_decode(engine: Engine, request_id: str, request: Request) -> Flow:
    stream = "text/event-stream" in request.headers.get("accept", "")
    number = int(request_id) if request_id.isdigit() and len(request_id) < 19 else -1
    reading, entry = engine.entries.read(number, engine.now(), stream=stream)
    if entry is not None and reading is Reading.STREAM:
        return (yield from _stream(engine, entry))
    if entry is not None and reading is Reading.ONE_DELTA:
        return (yield from _one_delta(engine, entry))
    honest = EntryReply(
        op="GET",
        slot=None if entry is None else entry.slot,
        state="unknown" if entry is None else entry.state.value,
        status=_STATUSES[reading],
        body=_body(reading, entry),
    )
    step = engine.at(Point.ENGINE_ENTRY, honest)
    engine.journal.write("decode_read", decode_request_id=number, state=step.state, status=step.status)
    return Reply(step.status, to_json(step.body))


def _body(reading: Reading, entry: Entry | None) -> dict[str, Any]:
    if entry is None:
        return _error(404, "decode_request_id not found or expired")
    match reading:
        case Reading.NOT_READY:
            return _error(404, "decode_request_id not ready")
        case Reading.MESSAGE:
            return _error(400, entry.message)
        case Reading.COMPLETION:
            return entry.body
    return {
        "state": entry.state.value,
        "decode_request_id": entry.request_id,
        "id_slot": entry.slot,
        "model_load_ms": 0,
        "restore_slot_ms": 0,
        "match": entry.match,
    }


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "type": "invalid_request_error"}}


def _one_delta(engine: Engine, entry: Entry) -> Flow:
    """All text in one event and no end line, as engines do; a plan without pieces leaves the end line alone."""
    plan = engine.at(Point.ENGINE_STREAM, StreamPlan("DECODE", entry.slot, at_once=True, done=False))
    yield StartStream()
    if plan.n_chunks != 0:
        yield Write([encode_event(to_json(completions.one_delta(entry.body)))])
    elif plan.then is Then.CLOSE:
        raise CutConnection
    if plan.done:
        yield Write([encode_event(DONE)])
    return END_STREAM


def _stream(engine: Engine, entry: Entry) -> Flow:
    """All pieces so far and then each new one, until the reply ends. A failure ends the stream without a word."""
    chunks = Chunks(engine, "DECODE", entry.slot, f"chatcmpl-{entry.request_id}")
    engine.journal.write("decode_read", decode_request_id=entry.request_id, state="stream", status=200)
    yield StartStream()
    yield from chunks.open()
    n_sent = 0
    while True:
        changed, ended = entry.changed, entry.state is not EntryState.GENERATING
        while n_sent < len(entry.pieces):
            yield from chunks.piece(entry.pieces[n_sent])
            n_sent += 1
        if ended:
            break
        yield Await(changed)
    if entry.state is EntryState.DONE:
        yield from chunks.end(entry.finish, entry.body["timings"])
    return END_STREAM


def cancel_decode(engine: Engine, request_id: str) -> Flow:
    """Ends the work and frees the slot; the stored result is forgotten."""
    yield from ()
    number = int(request_id) if request_id.isdigit() and len(request_id) < 19 else -1
    entry = engine.entries.maybe(number, engine.now())
    if entry is None:
        return Reply(404, to_json(_error(404, "decode_request_id not found or expired")))
    slot = engine.slots[entry.slot]
    if entry.state not in (EntryState.DONE, EntryState.FAILED) and entry.cancel is not None:
        entry.cancel()
        client_left(engine, slot, "DECODE")
    if slot.reserved_by == number:
        slot.reserved_by = None  # the work may have been cancelled before its first step
    engine.entries.remove(number)
    engine.journal.write("decode_cancelled", decode_request_id=number, slot=slot.id)
    return Reply(200, to_json({"cancelled": True, "decode_request_id": number}))
