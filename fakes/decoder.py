"""The fake decoder: requests in, effects and replies out. No IO.

Says which handler a request gets, and what comes before any of them: loading, the API key, unknown routes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any

from fakes import completions, endpoints, resuming
from fakes.api_error import ApiError
from fakes.control import Controlled
from fakes.effects import Flow, Reply
from fakes.endpoints import at_once
from fakes.flags import Options
from fakes.http1 import Request
from fakes.machine import Machine
from fakes.played import played
from fakes.slot_actions import slot_action
from fakes.slots import Move

Handler = Callable[[Machine, Request], Flow]

_KEYLESS = frozenset(("/health", "/v1/health"))
_GET: dict[str, Handler] = {
    "/health": at_once(endpoints.health),
    "/v1/health": at_once(endpoints.health),
    "/props": at_once(endpoints.props),
    "/models": at_once(endpoints.models),
    "/v1/models": at_once(endpoints.models),
    "/slots": at_once(endpoints.slots),
    "/metrics": at_once(endpoints.metrics),
    "/lora-adapters": at_once(endpoints.lora_adapters),
    "/v1/stream": resuming.replay,
}
_POST: dict[str, Handler] = {
    "/completion": completions.native,
    "/completions": completions.native,
    "/v1/completions": completions.text,
    "/v1/chat/completions": completions.chat,
    "/chat/completions": completions.chat,
    "/v1/chat/completions/input_tokens": at_once(endpoints.input_tokens),
    "/chat/completions/input_tokens": at_once(endpoints.input_tokens),
    "/props": at_once(endpoints.change_props),
    "/tokenize": at_once(endpoints.tokenize),
    "/detokenize": at_once(endpoints.detokenize),
    "/apply-template": at_once(endpoints.apply_template),
    "/embedding": at_once(endpoints.embeddings),
    "/embeddings": at_once(endpoints.embeddings),
    "/v1/embeddings": at_once(endpoints.embeddings),
    "/rerank": at_once(endpoints.reranking),
    "/reranking": at_once(endpoints.reranking),
    "/v1/rerank": at_once(endpoints.reranking),
    "/v1/reranking": at_once(endpoints.reranking),
    "/v1/streams/lookup": at_once(resuming.look_up),
}
_HANDLERS = {"GET": _GET, "POST": _POST, "DELETE": {"/v1/stream": at_once(resuming.end)}}
_COMPLETIONS = (completions.native, completions.text, completions.chat)


def handle(machine: Machine, request: Request) -> Flow:
    """One request. ApiError: the answer is that error, and nothing has been sent."""
    if machine.quiet:
        return answer(machine, request)
    return played(machine, request, lambda: answer(machine, request))


def answer(machine: Machine, request: Request) -> Flow:
    """One request, by a decoder that is well."""
    if request.method == "OPTIONS":
        return _preflight(machine.options)
    if machine.loading:
        raise ApiError(503, "Loading model", early=True)
    prefix = machine.options.api_prefix
    path = request.path.removeprefix(prefix)
    if not request.path.startswith(prefix):
        path = ""  # there is nothing outside the prefix
    if path not in _KEYLESS:
        _check_key(machine.options.api_keys, request.headers)
    method = "GET" if request.method == "HEAD" else request.method
    handler = _HANDLERS.get(method, {}).get(path)
    if handler in _COMPLETIONS and resuming.outlives(request):
        return (yield from resuming.resumable(machine, request, handler(machine, request)))
    if handler is not None:
        return (yield from handler(machine, request))
    if method == "POST" and path.startswith("/slots/") and "/" not in path[7:]:
        return (yield from slot_action(machine, request, path[7:]))
    raise ApiError(404, "File Not Found", early=True)


def _preflight(options: Options) -> Reply:
    allowed = (("Credentials", "true"), ("Methods", options.cors_methods), ("Headers", options.cors_headers))
    return Reply(200, b"", "text/html", tuple((f"Access-Control-Allow-{what}", value) for what, value in allowed))


def _check_key(keys: tuple[str, ...], headers: Mapping[str, str]) -> None:
    if not keys:
        return
    given = headers.get("authorization", headers.get("x-api-key", ""))
    if given.removeprefix("Bearer ") not in keys:
        raise ApiError(401, "Invalid API Key", early=True)


def controlled(machine: Machine) -> Controlled:
    """The decoder as its control endpoint sees it."""

    def state() -> dict[str, Any]:
        slots = [
            {"id": slot.id, "state": slot.state.value, "n_tokens": len(slot.tokens), "share_id": slot.share_id}
            for slot in machine.slots
        ]
        return {"loading": machine.loading, "slots": slots, "deferred": len(machine.scheduler.deferred)}

    def reset() -> None:
        machine.free_stuck()
        machine.poisoned = False
        for slot in machine.slots:
            if machine.scheduler.holder(slot) is None:
                slot.move(Move.ERASE)
                slot.tokens = array("i")

    def is_of(entry: Mapping[str, Any], scope: str) -> bool:
        if "prompt_tokens" in entry and scope.encode() in machine.model.tokenizer.decode(entry["prompt_tokens"]):
            return True
        return entry.get("scope") == scope

    return Controlled("decoder", machine.journal, machine.player, machine.holds, state, reset, is_of)
