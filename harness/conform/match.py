"""What a value should be like, said as a value: literals, types, patterns, parts of objects.

5, "limit", None          exactly that, and of that type
int, str, dict            one of that type (a whole number is a number, a truth value is not)
re.compile("b[0-9]+")     text that fits from end to end
{"code": 400}             an object that has at least these
[int, int]                a list of just these
a function                whatever it says yes to; its docstring says what that is
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Keys:
    """An object with these keys, in this order, and no others; their values may be said too."""

    names: tuple[str, ...]


def keys(text: str) -> Keys:
    return Keys(tuple(text.split()))


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def mismatch(expected: Any, seen: Any, where: str = "") -> str | None:
    """What is wrong with `seen`, or None."""
    named = where or "the answer"
    match expected:
        case Keys(names):
            return _keys(names, seen, named)
        case type():
            return None if _is(expected, seen) else f"{named} is {shown(seen)}, expected {expected.__name__}"
        case re.Pattern():
            fits = isinstance(seen, str) and expected.fullmatch(seen)
            return None if fits else f"{named} is {shown(seen)}, expected to fit {expected.pattern!r}"
        case dict():
            return _object(expected, seen, where)
        case list():
            return _list(expected, seen, where)
        case _ if callable(expected):
            return None if expected(seen) else f"{named} is {shown(seen)}, expected {_said(expected)}"
    same = type(seen) is type(expected) and seen == expected
    return None if same else f"{named} is {shown(seen)}, expected {shown(expected)}"


def _is(wanted: type, seen: Any) -> bool:
    if isinstance(seen, bool):
        return wanted is bool
    return isinstance(seen, (int, float) if wanted is float else wanted)


def _said(predicate: Callable[..., Any]) -> str:
    return (predicate.__doc__ or predicate.__name__).strip()


def _keys(names: tuple[str, ...], seen: Any, named: str) -> str | None:
    if not isinstance(seen, dict):
        return f"{named} is {shown(seen)}, expected an object"
    if tuple(seen) == names:
        return None
    missing, more = [n for n in names if n not in seen], [n for n in seen if n not in names]
    if missing or more:
        return f"{named} lacks {missing or 'nothing'}, and has {more or 'nothing'} beyond what is expected"
    return f"{named} has its keys in the order {list(seen)}"


def _object(expected: dict[str, Any], seen: Any, where: str) -> str | None:
    if not isinstance(seen, dict):
        return f"{where or 'the answer'} is {shown(seen)}, expected an object"
    for key, value in expected.items():
        path = f"{where}.{key}" if where else key
        if key not in seen:
            return f"{path} is missing"
        if (wrong := mismatch(value, seen[key], path)) is not None:
            return wrong
    return None


def _list(expected: list[Any], seen: Any, where: str) -> str | None:
    if not isinstance(seen, list) or len(seen) != len(expected):
        return f"{where or 'the answer'} is {shown(seen)}, expected a list of {len(expected)}"
    wrongs = (mismatch(value, seen[i], f"{where}[{i}]") for i, value in enumerate(expected))
    return next((wrong for wrong in wrongs if wrong is not None), None)
