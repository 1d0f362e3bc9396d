"""The shapes that a reply has on the engine's HTTP side: whole, as events, and the timings in both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fakes.engine.work import Reply
from fakes.tokenizer import EOS_ID, Tokenizer

FINISH = {"eos": "stop", "limit": "length"}


def text_of(tokenizer: Tokenizer, tokens: Iterable[int]) -> str:
    """The reply's text; the end-of-text token has none."""
    return tokenizer.decode(token for token in tokens if token != EOS_ID).decode(errors="replace")


def timings(reply: Reply, prompt_s: float, predicted_s: float) -> dict[str, Any]:
    return {
        "cache_n": reply.cached,
        "prompt_n": reply.evaluated,
        "prompt_ms": round(1000 * prompt_s, 3),
        "predicted_n": len(reply.predicted),
        "predicted_ms": round(1000 * predicted_s, 3),
    }


def usage(reply: Reply) -> dict[str, Any]:
    n_prompt, n_predicted = len(reply.prompt), len(reply.predicted)
    return {
        "completion_tokens": n_predicted,
        "prompt_tokens": n_prompt,
        "total_tokens": n_prompt + n_predicted,
        "prompt_tokens_details": {"cached_tokens": reply.cached},
    }


def whole(completion_id: str, model: str, text: str, reply: Reply, times: dict[str, Any]) -> dict[str, Any]:
    """A `chat.completion`."""
    return {
        "choices": [
            {
                "finish_reason": FINISH[reply.stop],
                "index": 0,
                "message": {"role": "assistant", "content": text},
            }
        ],
        "created": 0,
        "id": completion_id,
        "model": model,
        "object": "chat.completion",
        "usage": usage(reply),
        "timings": times,
    }


def delta(completion_id: str, model: str, text: str | None, finish: str | None = None) -> dict[str, Any]:
    """A `chat.completion.chunk`; `text` None is the opening one that names the role."""
    content: dict[str, Any] = {"role": "assistant", "content": None} if text is None else {"content": text}
    return {
        "choices": [{"finish_reason": finish, "index": 0, "delta": {} if finish else content}],
        "created": 0,
        "id": completion_id,
        "model": model,
        "object": "chat.completion.chunk",
    }


def one_delta(body: dict[str, Any]) -> dict[str, Any]:
    """A whole completion as the single event that a late reader of a stream gets."""
    (choice,) = body["choices"]
    message = {"role": "assistant", "content": choice["message"]["content"]}
    shown = {key: body[key] for key in ("created", "id", "model", "usage", "timings") if key in body}
    chosen = {"finish_reason": choice["finish_reason"], "index": 0, "delta": message}
    return {"choices": [chosen], "object": "chat.completion.chunk"} | shown
