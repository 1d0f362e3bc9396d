"""A request as a limit or a hold sees it: what is asked for, of which slot, in which words, for whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from fakes.http1 import Request

SCOPE_HEADER = "x-fake-scope"
"""Tests that share a fake send it with their own word, and limit their faults, holds and journal to it."""

_COMPLETIONS = ("/completion", "/completions", "/v1/completions", "/chat/completions", "/v1/chat/completions")
_TEXTS = ("prompt", "content", "messages", "input_prefix", "input_suffix", "filename", "text", "name")
_TOKENS = ("prompt", "tokens")


@dataclass
class Asked:
    """`slot` is the one that is being worked on, where that is known. `decode` turns tokens into their text.

    `prefix` is what stands before every path of the fake.
    """

    request: Request
    slot: int | None = None
    decode: Callable[[Sequence[int]], bytes] | None = None
    prefix: str = ""

    @cached_property
    def path(self) -> str:
        return self.request.path.removeprefix(self.prefix)

    @property
    def scope(self) -> str | None:
        return self.request.headers.get(SCOPE_HEADER)

    @cached_property
    def op(self) -> str:
        """`completion`, an action (`share`), or the last word of the path (`health`, `tokenize`, `slots`)."""
        if self.path in _COMPLETIONS:
            return "completion"
        if self.path.startswith("/slots/"):
            return self.request.query.get("action", "slots")
        return self.path.rstrip("/").rpartition("/")[2]

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON body, empty where it is none."""
        try:
            value = orjson.loads(self.request.body or b"{}")
        except orjson.JSONDecodeError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    def number(self, *names: str) -> int | None:
        """The first of these fields of the body that is a whole number."""
        values = (self.body.get(name) for name in names)
        return next((value for value in values if type(value) is int), None)

    @cached_property
    def named_slot(self) -> int | None:
        """The slot worked on, or else the one that path or body name."""
        named = self.slot
        if named is None and self.path.startswith("/slots/") and self.path[7:].isdecimal():
            named = int(self.path[7:])
        if named is None and type(self.body.get("id_slot")) is int:
            named = self.body["id_slot"]
        return named

    @cached_property
    def text(self) -> str:
        """Every text of the prompt in it; token lists are turned back into theirs."""
        found: list[str] = []
        for name in _TEXTS:
            _collect(self.body.get(name), found)
        if self.decode is not None:
            for name in _TOKENS:
                tokens = self.body.get(name)
                if isinstance(tokens, list) and tokens and all(type(one) is int for one in tokens):
                    with suppress(IndexError):  # a token that no model has: it is answered so later
                        found.append(self.decode(tokens).decode(errors="replace"))
        return "\n".join(found)


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, list):
        for one in value:
            _collect(one, found)
    elif isinstance(value, dict):
        for name in _TEXTS:
            _collect(value.get(name), found)
