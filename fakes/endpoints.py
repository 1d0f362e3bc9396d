"""The small endpoints: health, props, models, slots, tokenize, detokenize, apply-template, metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakes.api_error import ApiError
from fakes.body import flag, parse_body
from fakes.completions import chat_prompt
from fakes.effects import Flow, Reply
from fakes.http1 import Request
from fakes.machine import Machine
from fakes.metrics import METRICS_TYPE, metrics_text
from fakes.params import read_params
from fakes.prompts import mixed_tokens, render_chat
from fakes.replies import to_json
from fakes.slots import Slot
from fakes.tokenizer import BOS, EOS, TURN_END, TURN_START

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '"
    + TURN_START
    + "' + message.role + '\\n' + message.content + '"
    + TURN_END
    + "\\n' }}{% endfor %}{{ '"
    + TURN_START
    + "assistant\\n' }}"
)
_TEMPLATE_DOES = ("string_content", "system_role")
_TEMPLATE_CAPS = (
    *("object_arguments", "parallel_tool_calls", "preserve_reasoning", "reasoning_effort", "string_content"),
    *("system_role", "tool_calls", "tools", "typed_content"),
)
_NO_DETAILS: dict[str, Any] = {
    **{"parent_model": "", "format": "gguf", "family": "", "families": [""]},
    **{"parameter_size": "", "quantization_level": ""},
}
_HIDDEN_PARAMS = ("dry_sequence_breakers", "stop", "logit_bias", "preserved_tokens")


def _json(value: Any) -> Reply:
    return Reply(200, to_json(value))


def at_once(answer: Callable[[Machine, Request], Reply]) -> Callable[[Machine, Request], Flow]:
    """An endpoint that waits for nothing, as a flow."""

    def flow(machine: Machine, request: Request) -> Flow:
        return answer(machine, request)
        yield

    return flow


def health(machine: Machine, _: Request) -> Reply:
    return _json({"status": "ok"})


def models(machine: Machine, _: Request) -> Reply:
    spec, name = machine.spec, machine.name
    meta = {
        "vocab_type": 2 if machine.build.types_vocab else True,
        "n_vocab": spec.vocab,
        "n_ctx": machine.shape.n_ctx_slot,
        "n_ctx_train": spec.ctx,
        "n_embd": spec.row_bytes // 2,
        "n_params": spec.vocab * spec.row_bytes,
        "size": spec.vocab * spec.row_bytes * 2,
        "ftype": "toy",
    }
    old: dict[str, Any] = {
        "name": name,
        "model": name,
        "modified_at": "",
        "size": "",
        "digest": "",
        "type": "model",
        "description": "",
    }
    old |= {"tags": [""], "capabilities": ["completion"], "parameters": "", "details": _NO_DETAILS}
    new: dict[str, Any] = {
        "id": name,
        "aliases": machine.names if machine.options.alias else [],
        "tags": [],
        "object": "model",
        "created": int(machine.wall_s()),
        "owned_by": "llamacpp",
        "meta": meta,
    }
    if machine.build.says_modalities:
        new["architecture"] = {"input_modalities": ["text"], "output_modalities": ["text"]}
    return _json({"models": [old], "object": "list", "data": [new]})


def props(machine: Machine, _: Request) -> Reply:
    options = machine.options
    params = read_params({}, options, machine.model.tokenizer).settings(chat=False)
    return _json(
        {
            "default_generation_settings": {"params": _shown(params), "n_ctx": machine.shape.n_ctx_slot},
            "total_slots": machine.shape.n_slots,
            "model_alias": machine.name,
            "model_ftype": "toy",
            "model_path": options.model,
            "modalities": {"vision": False, "video": False, "audio": False},
            "media_marker": machine.media_marker,
            "endpoint_slots": options.slots,
            "endpoint_props": options.props,
            "endpoint_metrics": options.metrics,
            "ui": False,
            "ui_settings": {},
            "chat_template": CHAT_TEMPLATE,
            "chat_template_caps": {f"supports_{name}": name in _TEMPLATE_DOES for name in _TEMPLATE_CAPS},
            "bos_token": BOS,
            "eos_token": EOS,
            "build_info": machine.build_info,
            "is_sleeping": False,
            "cors_proxy_enabled": False,
        }
    )


def change_props(machine: Machine, _: Request) -> Reply:
    if not machine.options.props:
        raise ApiError(501, "This server does not support changing global properties. Start it with `--props`")
    return _json({"success": True})


def slots(machine: Machine, request: Request) -> Reply:
    if not machine.options.slots:
        raise ApiError(501, "This server does not support slots endpoint. Start it with `--slots`")
    machine.task_id()
    idle = [slot for slot in machine.slots if machine.scheduler.holder(slot) is None]
    if request.query.get("fail_on_no_slot") and not idle:
        raise ApiError(503, "no slot available")
    return _json([_slot(slot) for slot in machine.slots])


def _slot(slot: Slot) -> dict[str, Any]:
    busy = slot.is_busy
    found: dict[str, Any] = {"id": slot.id, "n_ctx": slot.n_ctx, "speculative": False, "is_processing": busy}
    if slot.params is None:
        return found
    token = {
        "has_next_token": busy,
        "has_new_line": False,
        "n_remain": slot.n_remain if busy else -1,
        "n_decoded": slot.n_decoded if busy else 0,
    }
    return found | {
        "id_task": slot.task_id,
        "n_prompt_tokens": len(slot.tokens),
        "n_prompt_tokens_processed": slot.n_prompt_processed if busy else 0,
        "n_prompt_tokens_cache": slot.n_prompt_cached if busy else 0,
        "params": _shown(slot.params.settings(chat=False)),
        "next_token": [token],
    }


def _shown(params: dict[str, Any]) -> dict[str, Any]:
    """Without what is too long for a list of slots."""
    return {name: value for name, value in params.items() if not _is_hidden(name)}


def _is_hidden(name: str) -> bool:
    return name in _HIDDEN_PARAMS or name.startswith("grammar")


def tokenize(machine: Machine, request: Request) -> Reply:
    body = parse_body(request.body)
    add_special, parse_special = flag(body, "add_special", False), flag(body, "parse_special", True)
    content, tokenizer = body.get("content"), machine.model.tokenizer
    if isinstance(content, str):
        tokens = tokenizer.encode(content, add_special=add_special, parse_special=parse_special)
    elif isinstance(content, list):
        tokens = mixed_tokens(content, tokenizer, add_special=add_special, parse_special=parse_special)
    else:
        tokens = []
    machine.journal.write("tokenize", n=len(tokens), **machine.scope_of(request))
    if not flag(body, "with_pieces", False):
        return _json({"tokens": tokens})
    return _json({"tokens": [{"id": token, "piece": _piece(tokenizer.piece(token))} for token in tokens]})


def _piece(piece: bytes) -> str | list[int]:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


def detokenize(machine: Machine, request: Request) -> Reply:
    tokens = parse_body(request.body).get("tokens")
    tokenizer = machine.model.tokenizer
    if tokens is None:
        return _json({"content": ""})
    if not isinstance(tokens, list) or any(type(token) is not int for token in tokens):
        raise ApiError(400, "[json.exception.type_error.302] type must be number")
    for token in tokens:
        if not 0 <= token < tokenizer.vocab:
            raise ApiError(
                500, f"vector::_M_range_check: __n (which is {token}) >= this->size() (which is {tokenizer.vocab})"
            )
    return _json({"content": tokenizer.decode(tokens).decode(errors="replace")})


def apply_template(machine: Machine, request: Request) -> Reply:
    prompt, _ = render_chat(parse_body(request.body))
    machine.journal.write("apply_template", **machine.scope_of(request))
    return _json({"prompt": prompt})


def input_tokens(machine: Machine, request: Request) -> Reply:
    prompt, _ = chat_prompt(machine, parse_body(request.body))
    return _json({"input_tokens": len(prompt.tokens), "object": "response.input_tokens"})


def lora_adapters(machine: Machine, _: Request) -> Reply:
    return _json([])


def metrics(machine: Machine, _: Request) -> Reply:
    if not machine.options.metrics:
        raise ApiError(501, "This server does not support metrics endpoint. Start it with `--metrics`")
    machine.task_id()
    started = ("Process-Start-Time-Unix", str(machine.started_ns // 1000))
    n_busy, n_deferred = sum(slot.is_busy for slot in machine.slots), len(machine.scheduler.deferred)
    page = metrics_text(machine.counters, n_busy, n_deferred)
    return Reply(200, page, METRICS_TYPE, (started,))


def embeddings(machine: Machine, _: Request) -> Reply:
    raise ApiError(501, "This server does not support embeddings. Start it with `--embeddings`")


def reranking(machine: Machine, _: Request) -> Reply:
    raise ApiError(501, "This server does not support reranking. Start it with `--reranking`")
