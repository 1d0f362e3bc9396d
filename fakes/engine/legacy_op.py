"""DECODE before there was a frame: nine-byte frames of a known number, or pieces of text that just stop."""

from __future__ import annotations

from fakes.api_error import ApiError
from fakes.engine.blobs import Payload
from fakes.engine.config import Generation
from fakes.engine.engine import Engine
from fakes.engine.generate import Served, generate
from fakes.engine.outcome import Outcome
from fakes.engine.requests import Wanted, read_wanted
from fakes.engine.slot import EngineSlot
from fakes.engine.steps import LegacyReply
from fakes.engine.work import Work
from fakes.point import Point
from fakes.tokenizer import EOS_ID
from wire.decode_legacy import TokenFrame, encode_piece, encode_token_frame
from wire.errors import RemoteWireError
from wire.fields import parse_object
from wire.hydra import Status

_STOP_REASON = {"eos": "eos", "limit": "length"}


def run_legacy(engine: Engine, slot_id: int, payload: bytes, trace: str, generation: Generation) -> Work[Outcome]:
    """`messages` null goes on from what the slot holds."""
    slot = engine.maybe_slot(slot_id)
    if slot is None or not slot.free:
        return Outcome(Status.ERROR)
    try:
        wanted = _wanted(engine, slot, payload)
    except (RemoteWireError, ApiError):
        return Outcome(Status.ERROR)
    if not 0 < len(wanted.tokens) <= slot.n_ctx:
        return Outcome(Status.ERROR)
    engine.executed("DECODE", trace, slot.id)
    served = yield from generate(engine, slot, wanted, "DECODE", slot.id, _nowhere)
    if generation is Generation.FRAMES:
        return _frames(engine, slot, served)
    pieces = b"".join(encode_piece(_text(engine, token)) for token in served.reply.predicted)
    return Outcome(Status.OK, behind=engine.at(Point.ENGINE_LEGACY, LegacyReply("DECODE", slot.id, pieces)).data)


def _wanted(engine: Engine, slot: EngineSlot, payload: bytes) -> Wanted:
    body = parse_object(payload, "the payload of DECODE")
    if body.get("messages") is None and "prompt" not in body:
        slot.snapshots = ()
        body = body | {"prompt": list(slot.tokens)}
        del body["messages"]
    return read_wanted(engine.resident.model, body)


def _nowhere(_: int) -> Work[None]:
    yield from ()


def _text(engine: Engine, token: int) -> bytes:
    return b"" if token == EOS_ID else engine.resident.model.tokenizer.piece(token)


def _frames(engine: Engine, slot: EngineSlot, served: Served) -> Outcome:
    tokens = served.reply.predicted
    last = len(tokens) - 1
    data = b"".join(encode_token_frame(TokenFrame(token, 0.0, at == last)) for at, token in enumerate(tokens))
    sent = engine.at(Point.ENGINE_LEGACY, LegacyReply("DECODE", slot.id, data)).data
    meta = {
        "tokens_generated": len(tokens),
        "n_past": slot.n_past,
        "stop_reason": _STOP_REASON[served.reply.stop],
    }
    return Outcome(Status.OK, meta, Payload(len(sent), lambda: iter((sent,))))
