"""From the forms a prompt may have to token ids: text, ids, both mixed, several prompts, chat messages."""

from __future__ import annotations

from array import array
from typing import Any

import orjson

from fakes.api_error import ApiError
from fakes.body import string, type_name
from fakes.tokenizer import TURN_END, TURN_START, Tokenizer


def render_chat(body: dict[str, Any]) -> tuple[str, str]:
    """The prompt of a chat request, and what its last message already says of the answer (else empty).

    ApiError 400 without messages, 500 for a message without role or with parts that are no text.
    """
    messages = body.get("messages")
    if messages is None:
        raise ApiError(400, "'messages' is required")
    if not isinstance(messages, list):
        raise ApiError(400, "Expected 'messages' to be an array")
    turns = [_turn(message) for message in messages]
    parts = [f"{TURN_START}{role}\n{content}{TURN_END}\n" for role, content in turns]
    begun = ""
    if turns and turns[-1][0] == "assistant":
        begun = turns[-1][1]
        parts.pop()
    return "".join(parts) + f"{TURN_START}assistant\n{begun}", begun


def _turn(message: object) -> tuple[str, str]:
    if not isinstance(message, dict):
        raise ApiError(500, f"Failed to parse messages: Expected message to be an object: {_shown(message)}")
    role = message.get("role")
    if not isinstance(role, str):
        raise ApiError(500, f"Failed to parse messages: Missing 'role' in message: {_shown(message)}")
    content = message.get("content")
    if content is None:
        return role, ""
    if isinstance(content, str):
        return role, content
    if isinstance(content, list):
        return role, "".join(_part(part) for part in content)
    raise ApiError(500, f"Failed to parse messages: Invalid 'content' type: {_shown(message)}")


def _part(part: object) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part, dict) and part.get("type") in ("image_url", "input_audio"):
        raise ApiError(
            500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
        )
    raise ApiError(500, f"Failed to parse messages: unsupported content[].type: {_shown(part)}")


def _shown(value: object) -> str:
    try:
        return orjson.dumps(value).decode()[:200]
    except orjson.JSONEncodeError:
        return type_name(value)  # what was read is nested deeper than can be written


class Prompt:
    """One prompt: what it echoes and the ids it stands for."""

    __slots__ = ("text", "tokens")

    def __init__(self, text: str, tokens: list[int]) -> None:
        self.text = text
        self.tokens = array("i", tokens)


def read_prompts(value: object, tokenizer: Tokenizer) -> list[Prompt]:
    """The prompts a `prompt` field stands for. ApiError 400 where it stands for none."""
    if value == []:
        raise ApiError(400, '"prompt" must not be empty')
    if isinstance(value, list) and any(isinstance(item, list | dict) for item in value):
        if all(isinstance(item, list | str | dict) for item in value):
            return [_one(item, tokenizer) for item in value]
        raise _invalid()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [_one(item, tokenizer) for item in value]
    return [_one(value, tokenizer)]


def _one(value: object, tokenizer: Tokenizer) -> Prompt:
    if isinstance(value, str):
        return Prompt(value, tokenizer.encode(value, add_special=True))
    if isinstance(value, dict) and "prompt_string" in value:
        return _one(string(value, "prompt_string"), tokenizer)
    if not isinstance(value, list):
        raise _invalid()
    tokens = mixed_tokens(value, tokenizer, add_special=True)
    return Prompt(tokenizer.decode(tokens).decode(errors="replace"), tokens)


def mixed_tokens(items: list[Any], tokenizer: Tokenizer, *, add_special: bool, parse_special: bool = True) -> list[int]:
    """Ids out of a list of ids and texts; BOS stands in front only where the list begins with a text."""
    tokens: list[int] = []
    for index, item in enumerate(items):
        if isinstance(item, str):
            special = add_special and index == 0
            tokens += tokenizer.encode(item, add_special=special, parse_special=parse_special)
        elif isinstance(item, int) and not isinstance(item, bool):
            if not 0 <= item < tokenizer.vocab:
                raise ApiError(400, "Prompt contains invalid tokens")
            tokens.append(item)
        else:
            raise _invalid()
    return tokens


def _invalid() -> ApiError:
    wanted = (
        "a string, a list of tokens, a JSON object containing a prompt string, or a list of mixed strings & tokens."
    )
    return ApiError(400, f'"prompt" elements must be {wanted}')
