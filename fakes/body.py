"""Reading a request's JSON body: the checks llama-server makes, with its texts.

`null` means the default everywhere. Unknown fields are ignored. Knows nothing of what the values are for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fakes.api_error import ApiError

Body = dict[str, Any]
INT32_MAX = (1 << 31) - 1


def parse_body(raw: bytes) -> Body:
    """The body as a JSON object. ApiError 400 when it is none."""
    try:
        value = _DECODER.decode(raw.decode())
        if b"\\u" in raw:
            _check_surrogates(value)
    except RecursionError:
        raise ApiError(400, _parse_error(1, 1, "nesting too deep")) from None
    except json.JSONDecodeError as error:
        raise ApiError(400, _parse_error(error.lineno, error.colno, error.msg)) from None
    except ValueError as error:
        raise ApiError(400, _parse_error(1, 1, str(error)[:200])) from None
    if not isinstance(value, dict):
        raise ApiError(400, f"[json.exception.type_error.305] cannot use operator[] with {type_name(value)}")
    return value


def _check_surrogates(value: object) -> None:
    """ValueError where a string holds half of a surrogate pair, which no text can."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not item.isascii():
                item.encode()
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            stack += item
            stack += item.values()


def _no_constant(name: str) -> None:
    raise ValueError(f"invalid literal; last read: '{name}'")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _parse_error(line: int, column: int, why: str) -> str:
    return f"[json.exception.parse_error.101] parse error at line {line}, column {column}: {why}"


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
