"""Reading fields out of a JSON object a peer sent, so that nothing unchecked gets past a codec.

A number is an `int` that is no `bool`, inside its bounds; every complaint names the field.
"""

from __future__ import annotations

import json
from typing import Any

from wire.errors import RemoteWireError


def parse_object(raw: bytes, what: str) -> dict[str, Any]:
    """`raw` as a JSON object. RemoteWireError: no JSON, too deeply nested, NaN or Infinity, or no object."""
    try:
        value = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RemoteWireError(f"{what} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise RemoteWireError(f"{what} is no JSON object")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def whole(value: object, name: str, low: int, high: int) -> int:
    """A whole number of at least `low` and at most `high`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise RemoteWireError(f"{name} is {_short(value)}, not a whole number")
    if not low <= value <= high:
        raise RemoteWireError(f"{name} is {_short(value)}, allowed are {low} to {high}")
    return value


def text(value: object, name: str, max_chars: int) -> str:
    """A non-empty string without control characters."""
    if not isinstance(value, str) or not value or len(value) > max_chars or not value.isprintable():
        raise RemoteWireError(f"{name} is {_short(value)}, not a string of 1 to {max_chars} printable characters")
    return value


def objects(value: object, name: str, max_items: int) -> list[dict[str, Any]]:
    """A list of 1 to `max_items` JSON objects."""
    if not isinstance(value, list) or not 1 <= len(value) <= max_items:
        raise RemoteWireError(f"{name} is {_short(value)}, not a list of 1 to {max_items}")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise RemoteWireError(f"{name}[{index}] is {_short(item)}, not an object")
    return value


def one_object(value: object, name: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise RemoteWireError(f"{name} is {_short(value)}, not an object")
    return value


def _short(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, list | dict):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a number of {value.bit_length()} bits"
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
