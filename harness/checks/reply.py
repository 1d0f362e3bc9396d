"""`reply`: what the client got for a request: status, headers, text, how it ended, what the server counted."""

from __future__ import annotations

from typing import Any

from harness.checks.expectation import Expected, FieldsAre, Lookup
from harness.checks.journal import paths
from harness.checks.judge import Seen, Sighting, Unseen
from harness.checks.look import Look, Observable
from harness.record import Exchange, Record
from harness.shapes import Fields, Key, MapOf

_MEANS = {
    "status": "the HTTP status; null where no reply came",
    "text": "the text of the reply",
    "finish_reason": "as the server gave it",
    "tokens": "generated tokens, by the reply's usage",
    "prompt_tokens": "prompt tokens, by the reply's usage",
    "prompt_n": "tokens evaluated, by the reply's timings",
    "cache_n": "tokens reused, by the reply's timings",
    "choices": "how many choices the reply has, of one that is not streamed",
    "error": "the error's text, empty where there is none",
    "error_type": "the error's type, where it has one",
    "failure": "how the reply was cut short, empty for a whole one",
    "request": "the request's name",
}


def facts(exchange: Exchange) -> dict[str, Any]:
    """What there is to say about one reply, by the names that scenarios use."""
    reply = exchange.reply
    return {
        "request": exchange.name,
        "status": reply.status,
        "headers": reply.headers,
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "tokens": reply.usage.get("completion_tokens"),
        "prompt_tokens": reply.usage.get("prompt_tokens"),
        "prompt_n": reply.server_timings.get("prompt_n"),
        "cache_n": reply.server_timings.get("cache_n"),
        "choices": _choices(reply.body),
        "error": reply.error,
        "error_type": reply.error_type,
        "failure": reply.failure,
    }


def _choices(body: Any) -> int | None:
    listed = body.get("choices") if isinstance(body, dict) else None
    return len(listed) if isinstance(listed, list) else None


def replies(record: Record, look: Look) -> list[Exchange]:
    return [each for each in record.exchanges if look.request in (None, each.name)]


def _observe(record: Record, look: Look, lookup: Lookup) -> Seen | Unseen:
    if not record.exchanges:
        return Unseen("no request was sent")
    found = tuple(Sighting(facts(each), each.where, each.reply.timings.first_byte_ns) for each in replies(record, look))
    return Seen("reply", found)


def _wrong(expected: FieldsAre, value: Any, lookup: Lookup) -> str | None:
    finding = expected.wrong(value, lookup)
    told = value["failure"] or value["error"]
    return f"{finding} ({told})" if finding is not None and told else finding


def _headers(**expected: Any) -> FieldsAre:
    return FieldsAre(expected)


class _HeaderFields:
    """Headers by their names in lower case."""

    def parse(self, node: Any, place: Any) -> FieldsAre:
        found = MapOf(Expected(paths)).parse(node, place)
        return FieldsAre({name.lower(): expected for name, expected in found.items()})

    def schema(self) -> dict[str, Any]:
        return MapOf(Expected(paths)).schema()


_SHAPE = Fields(
    _headers,
    {name: Key(Expected(paths), means) for name, means in _MEANS.items()} | {"headers": Key(_HeaderFields())},
)

OBSERVABLES = (Observable("reply", "a reply as the client got it", _SHAPE, _observe, _wrong, tuple(_MEANS), True),)
