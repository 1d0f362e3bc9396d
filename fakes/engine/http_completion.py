"""Completions over HTTP on the engine's slots: the fallback of a router, and the plain run of a test."""

from __future__ import annotations

from typing import Any

from fakes.api_error import ApiError
from fakes.body import parse_body
from fakes.effects import END_STREAM, Await, ClientGone, Flow, Reply, StartStream
from fakes.engine import completions
from fakes.engine.engine import Engine
from fakes.engine.generate import Served, generate
from fakes.engine.http_stream import Chunks
from fakes.engine.requests import Wanted, read_wanted
from fakes.engine.slot import EngineSlot
from fakes.engine.steps import Cancel
from fakes.engine.work import Work, until_free
from fakes.http1 import Request
from fakes.params import body_slot
from fakes.point import Point
from fakes.replies import to_json


def chat(engine: Engine, request: Request) -> Flow:
    body = parse_body(request.body)
    wanted = read_wanted(engine.resident.model, body)
    slot, asked = yield from _slot_for(engine, wanted, body)
    if wanted.stream:
        return (yield from _streamed(engine, slot, wanted, asked))
    served = yield from _served(engine, slot, wanted, "/v1/chat/completions", asked)
    return Reply(200, to_json(_whole(engine, slot, served)))


def native(engine: Engine, request: Request) -> Flow:
    """llama-server's own form, not streamed, with the token ids of the reply."""
    body = parse_body(request.body)
    wanted = read_wanted(engine.resident.model, body)
    if wanted.stream:
        raise ApiError(501, "this engine streams chat completions only")
    slot, asked = yield from _slot_for(engine, wanted, body)
    served = yield from _served(engine, slot, wanted, "/completion", asked)
    tokens = served.reply.predicted
    answer = {
        "content": completions.text_of(engine.resident.model.tokenizer, tokens),
        "tokens": tokens,
        "id_slot": slot.id,
        "stop_type": served.reply.stop,
        "tokens_cached": served.reply.cached,
        "timings": completions.timings(served.reply, served.prompt_s, served.predicted_s),
    }
    return Reply(200, to_json(answer))


def _slot_for(engine: Engine, wanted: Wanted, body: dict[str, Any]) -> Work[tuple[EngineSlot, int | None]]:
    """The slot the body names, once it is free, else a free one, the best matching first."""
    asked = body_slot(body)
    slot = engine.maybe_slot(asked)
    if asked is not None and slot is None:
        raise ApiError(400, f"id_slot {asked} is not in 0..{len(engine.slots) - 1}")
    if not 0 < len(wanted.tokens) <= engine.config.n_ctx:
        raise ApiError(400, f"the prompt has {len(wanted.tokens)} tokens, a slot holds {engine.config.n_ctx}")
    while slot is None:
        free = [one for one in engine.slots if one.free and one.reserved_by is None]
        slot = max(free, key=lambda one: (_common(one, wanted), -one.id), default=None)
        if slot is None:
            yield Await(engine.next_freed())
    yield from until_free(slot, engine.next_freed)
    slot.working = "decode"
    return slot, asked


def _common(slot: EngineSlot, wanted: Wanted) -> int:
    n_common = 0
    for known, asked in zip(slot.tokens, wanted.tokens, strict=False):
        if known != asked:
            break
        n_common += 1
    return n_common


def _served(engine: Engine, slot: EngineSlot, wanted: Wanted, via: str, asked: int | None) -> Work[Served]:
    def nowhere(_: int) -> Work[None]:
        yield from ()

    try:
        return (yield from generate(engine, slot, wanted, via, asked, nowhere))
    except ClientGone:
        client_left(engine, slot, via)
        raise


def client_left(engine: Engine, slot: EngineSlot, via: str) -> None:
    """The slot is free again, unless a fault shows it as working for a while."""
    step = engine.at(Point.ENGINE_CANCEL, Cancel(via, slot.id))
    if not step.heeded:
        slot.looks_left = step.looks


def _whole(engine: Engine, slot: EngineSlot, served: Served) -> dict[str, Any]:
    text = completions.text_of(engine.resident.model.tokenizer, served.reply.predicted)
    times = completions.timings(served.reply, served.prompt_s, served.predicted_s)
    return completions.whole("chatcmpl-http", engine.resident.alias, text, served.reply, times) | {"id_slot": slot.id}


def _streamed(engine: Engine, slot: EngineSlot, wanted: Wanted, asked: int | None) -> Flow:
    via, tokenizer = "/v1/chat/completions", engine.resident.model.tokenizer
    chunks = Chunks(engine, via, slot.id, "chatcmpl-http")
    pending: list[int] = []
    yield StartStream()
    yield from chunks.open()

    def on_token(token: int) -> Work[None]:
        pending.append(token)
        yield from ()

    work = generate(engine, slot, wanted, via, asked, on_token)
    try:
        effect = next(work)
        while True:
            for token in pending:
                yield from chunks.piece(completions.text_of(tokenizer, [token]))
            pending.clear()
            sent = yield effect
            effect = work.send(sent)
    except StopIteration as stop:
        served: Served = stop.value
    except ClientGone:
        try:
            work.throw(ClientGone())
        except (ClientGone, StopIteration):
            client_left(engine, slot, via)
        raise
    for token in pending:
        yield from chunks.piece(completions.text_of(tokenizer, [token]))
    times = completions.timings(served.reply, served.prompt_s, served.predicted_s)
    yield from chunks.end(completions.FINISH[served.reply.stop], times)
    return END_STREAM
