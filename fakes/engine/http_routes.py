"""The engine's HTTP side: which handler a request gets, and the small endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakes.api_error import ApiError
from fakes.body import flag, parse_body
from fakes.effects import Flow, Pause, Reply
from fakes.engine.engine import Engine
from fakes.engine.http_completion import chat, native
from fakes.engine.http_decode import cancel_decode, get_decode
from fakes.engine.http_state import erase, get_meta, get_state, put_state
from fakes.engine.steps import SlotsReply
from fakes.http1 import Request
from fakes.metrics import METRICS_TYPE, metrics_text
from fakes.point import Point
from fakes.prompts import mixed_tokens, render_chat
from fakes.replies import to_json

Handler = Callable[[Engine, Request], Flow]


def handle(engine: Engine, request: Request) -> Flow:
    """One request. ApiError: the answer is that error, and nothing has been sent."""
    handler = _FIXED.get((request.method, request.path))
    if handler is not None:
        return (yield from handler(engine, request))
    parts = tuple(request.path.strip("/").split("/"))
    match (request.method, *parts):
        case ("POST", "slots", slot) if request.query.get("action") == "erase":
            return (yield from erase(engine, slot))
        case ("GET", "slots", slot, "state"):
            return (yield from get_state(engine, slot))
        case ("PUT", "slots", slot, "state"):
            return (yield from put_state(engine, slot, request))
        case ("GET", "slots", slot, "state", "meta"):
            return (yield from get_meta(engine, slot))
        case ("GET", "v1", "decode", request_id):
            return (yield from get_decode(engine, request_id, request))
        case ("DELETE", "v1", "decode", request_id):
            return (yield from cancel_decode(engine, request_id))
    raise ApiError(404, "File Not Found", early=True)


def _at_once(answer: Callable[[Engine, Request], Any]) -> Handler:
    """An endpoint that answers with JSON and waits for nothing."""

    def flow(engine: Engine, request: Request) -> Flow:
        yield from ()
        return Reply(200, to_json(answer(engine, request)))

    return flow


def _health(_: Engine, __: Request) -> Any:
    return {"status": "ok"}


def _models(engine: Engine, _: Request) -> Any:
    spec = engine.resident.model.spec
    rows = [
        {
            "id": one.alias,
            "object": "model",
            "created": 0,
            "owned_by": "llamacpp",
            "meta": {"n_vocab": one.model.spec.vocab, "n_ctx": engine.config.n_ctx, "n_ctx_train": spec.ctx},
        }
        for one in engine.config.models
    ]
    return {"object": "list", "data": rows}


def _props(engine: Engine, _: Request) -> Any:
    return {
        "default_generation_settings": {"n_ctx": engine.config.n_ctx},
        "total_slots": engine.config.n_slots,
        "model_alias": engine.resident.alias,
        "build_info": "fake-engine",
    }


def _slots(engine: Engine, _: Request) -> Flow:
    honest = SlotsReply("slots", None, tuple(engine.slot_view(slot) for slot in engine.slots))
    step = engine.at(Point.ENGINE_SLOTS, honest)
    for slot in engine.slots:
        slot.looked_at()
    if step.delay_s:
        yield Pause(step.delay_s)
    return Reply(200, to_json(list(step.slots)))


def _metrics(engine: Engine, _: Request) -> Flow:
    yield from ()
    if not engine.config.metrics:
        raise ApiError(501, "This server does not support metrics endpoint. Start it with `--metrics`")
    n_busy = sum(not slot.free for slot in engine.slots)
    return Reply(200, metrics_text(engine.counters, n_busy, None), METRICS_TYPE)


def _tokenize(engine: Engine, request: Request) -> Any:
    body = parse_body(request.body)
    special, parsed = flag(body, "add_special", False), flag(body, "parse_special", True)
    content, tokenizer = body.get("content"), engine.resident.model.tokenizer
    if isinstance(content, str):
        return {"tokens": tokenizer.encode(content, add_special=special, parse_special=parsed)}
    items = content if isinstance(content, list) else []
    return {"tokens": mixed_tokens(items, tokenizer, add_special=special, parse_special=parsed)}


def _apply_template(_: Engine, request: Request) -> Any:
    return {"prompt": render_chat(parse_body(request.body))[0]}


_FIXED: dict[tuple[str, str], Handler] = {
    ("GET", "/health"): _at_once(_health),
    ("GET", "/v1/health"): _at_once(_health),
    ("GET", "/v1/models"): _at_once(_models),
    ("GET", "/props"): _at_once(_props),
    ("GET", "/slots"): _slots,
    ("GET", "/metrics"): _metrics,
    ("POST", "/tokenize"): _at_once(_tokenize),
    ("POST", "/apply-template"): _at_once(_apply_template),
    ("POST", "/v1/chat/completions"): chat,
    ("POST", "/completion"): native,
}
