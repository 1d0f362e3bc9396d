"""Reading a request's JSON body: the checks llama-server makes, with its texts.

`null` means the default everywhere. Unknown fields are ignored. Knows nothing of what the values are for. The
parser is as strict as the real server's: no NaN, no half of a surrogate pair, no bottomless nesting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from fakes.api_error import ApiError

Body = dict[str, Any]
INT32_MAX = (1 << 31) - 1


def parse_body(raw: bytes) -> Body:
    """The body as a JSON object. ApiError 400 when it is none."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ApiError(400, f"[json.exception.parse_error.101] parse error at {where}: {error.msg}") from None
    if not isinstance(value, dict):
        raise ApiError(400, f"[json.exception.type_error.304] cannot use at() with {type_name(value)}")
    return value


def type_name(value: object) -> str:
    """What the JSON library of llama.cpp calls the type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _wrong_type(name: str, wanted: str, value: object) -> ApiError:
    return ApiError(
        400,
        f"Field '{name}': [json.exception.type_error.302] type must be {wanted}, but is {type_name(value)}",
    )


def flag(body: Mapping[str, Any], name: str, default: bool) -> bool:
    """A boolean field."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _wrong_type(name, "boolean", value)
    return value


def number(body: Mapping[str, Any], name: str, default: float) -> float:
    """A number field; a fraction stays one."""
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(name, "number", value)
    return value


def integer(body: Mapping[str, Any], name: str, default: int, low: int, high: int = INT32_MAX) -> int:
    """A whole-number field; a fraction is cut, as C++ cuts it."""
    value = number(body, name, default)
    value = int(value) if abs(value) < 1e18 else INT32_MAX + 1
    if not low <= value <= high:
        raise ApiError(400, f"Field '{name}': Value must be between {low} <= value <= {high}, but got {value}")
    return value


def string(body: Mapping[str, Any], name: str) -> str:
    """A string field that has to be there."""
    if name not in body:
        raise ApiError(400, f"[json.exception.out_of_range.403] key '{name}' not found")
    value = body[name]
    if not isinstance(value, str):
        raise ApiError(400, f"[json.exception.type_error.302] type must be string, but is {type_name(value)}")
    return value
