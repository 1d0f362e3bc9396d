"""HTTP requests made wrong on purpose, all drawn from the generator that is handed in."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from gates.fuzz.mutate import mutated

_CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a river."}]
_BODIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/completion", {"prompt": [400, 401, 402], "n_predict": 2, "temperature": 0, "id_slot": 0, "stop": ["otter"]}),
    ("/completion", {"prompt": "The otter", "n_predict": 2, "stream": True, "n_probs": 2, "logit_bias": [[400, 1.5]]}),
    ("/completion", {"prompt": ["one", [400, "two"]], "n_predict": 1, "response_fields": ["timings/prompt_n"]}),
    ("/v1/completions", {"prompt": "The otter", "max_tokens": 2, "seed": 5, "n": 1, "logprobs": 1}),
    ("/v1/completions", {"prompt": [400, 401], "max_tokens": 2, "stream": True, "cache_prompt": True}),
    ("/v1/chat/completions", {"messages": _CHAT, "max_tokens": 2, "logprobs": True, "top_logprobs": 2}),
    ("/v1/chat/completions", {"messages": _CHAT, "max_tokens": 2, "stream": True, "stream_options": {}}),
    ("/v1/chat/completions/input_tokens", {"messages": _CHAT}),
    ("/v1/streams/lookup", {"conversation_ids": ["river"]}),
    ("/v1/completions", {"prompt": ["one", [400, 401]], "max_tokens": 2, "stream": True}),
    ("/apply-template", {"messages": _CHAT}),
    ("/tokenize", {"content": "The otter", "add_special": True, "with_pieces": True}),
    ("/detokenize", {"tokens": [400, 401]}),
    ("/slots/0?action=save", {"filename": "a.bin"}),
    ("/slots/1?action=restore", {"filename": "a.bin"}),
    ("/slots/0?action=erase", {}),
)
_GETS = (
    *("/health", "/props", "/slots", "/metrics", "/v1/models", "/slots?fail_on_no_slot=1"),
    *("/v1/stream?conv_id=river", "/v1/stream"),
)
_NUMBERS = (
    *("0", "-0", "-1", "1e400", "-1e400", "1e-400", "9" * 400, "0.1", "9223372036854775808", "-9223372036854775809"),
    *("4294967296", "2147483648", "NaN", "Infinity", "1e5", "01", "+1", "0x1", "1.", ".5", "1e"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**31, 2**63, -(2**63), 2**70, 0.5, 1e300, "", "x", "\0", "é\U0001f9a6", "a" * 5000),
    *([], [[]], {}, {"a": {}}, [None], [1, "a"], [{}], {"": ""}, [-1], [2**40], {"prompt_string": 5}),
)
_SPACES = (b"", b" ", b"  ", b"\t", b"\0", b"\r")


@dataclass(frozen=True, slots=True)
class Malformed:
    """What is sent. `whole` requests get an answer; the others may be left without one when the sender stops."""

    kind: str
    data: bytes
    whole: bool


def malformed(rng: Random) -> Malformed:
    """One request of one kind."""
    make = rng.choice(_KINDS)
    data, whole = make(rng)
    return Malformed(make.__name__.strip("_"), data, whole)


def request(path: str, body: bytes | None, *more: bytes) -> bytes:
    """A good request, and the last of its connection."""
    method = b"GET" if body is None else b"POST"
    head = [method + b" " + path.encode() + b" HTTP/1.1", b"Host: fuzz", b"Connection: close", *more]
    if body is not None:
        head.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(head) + b"\r\n\r\n" + (body or b"")


def _good(rng: Random) -> bytes:
    if rng.random() < 0.15:
        return request(rng.choice(_GETS), None)
    path, body = rng.choice(_BODIES)
    return request(path, json.dumps(body).encode())


def _random_bytes(rng: Random) -> tuple[bytes, bool]:
    return rng.randbytes(rng.choice((1, 10, 200, 3000))), False


def _accidents(rng: Random) -> tuple[bytes, bool]:
    return mutated(_good(rng), rng), False


def _truncated(rng: Random) -> tuple[bytes, bool]:
    data = _good(rng)
    return data[: rng.randrange(len(data))], False


def _two_at_once(rng: Random) -> tuple[bytes, bool]:
    return _good(rng).replace(b"Connection: close\r\n", b"") + mutated(_good(rng), rng), False


def _deep_json(rng: Random) -> tuple[bytes, bool]:
    depth = rng.choice((50, 500, 1100, 5000, 60_000))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]"), (b"[", b"")))
    inner = opening * depth + rng.choice((b"1", b"", b'"x"')) + closing * depth
    path, body = rng.choice(_BODIES)
    if not body or rng.random() < 0.3:
        return request(path, inner), True
    field = rng.choice(list(body)).encode()
    return request(path, json.dumps(body).encode()[:-1] + b',"' + field + b'":' + inner + b"}"), True


def _wrong_types(rng: Random) -> tuple[bytes, bool]:
    path, body = rng.choice(_BODIES)
    wrong: Any = copy.deepcopy(body)
    for _ in range(rng.choice((1, 1, 2, 4))):
        _change(wrong, rng)
    return request(path, json.dumps(wrong, ensure_ascii=rng.random() < 0.5).encode()), True


def _change(value: Any, rng: Random) -> None:
    """Somewhere in it something becomes something else."""
    while isinstance(value, dict | list) and value:
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if not isinstance(value[key], dict | list) or not value[key] or rng.random() < 0.4:
            value[key] = copy.deepcopy(rng.choice(_VALUES))
            return
        value = value[key]


def _numbers(rng: Random) -> tuple[bytes, bool]:
    path, body = rng.choice([each for each in _BODIES if each[1]])
    field = rng.choice([*body, "n_predict", "seed", "temperature", "top_k", "n_probs", "id_slot", "n", "max_tokens"])
    number = rng.choice(_NUMBERS)
    data = json.dumps({**body, field: "NUMBER"}).replace('"NUMBER"', rng.choice((number, f"[{number}]")))
    return request(path, data.encode()), True


def _no_utf8(rng: Random) -> tuple[bytes, bool]:
    path, body = rng.choice(_BODIES)
    data = bytearray(json.dumps({**body, "content": "otter", "prompt": "the otter"}).encode())
    for _ in range(rng.choice((1, 3))):
        at = rng.randrange(len(data))
        data[at:at] = rng.choice(
            (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\\ud800", b"\0", b"\x80")
        )
    return request(path, bytes(data)), True


def _headers(rng: Random) -> tuple[bytes, bool]:
    path, body = rng.choice(_BODIES)
    data = json.dumps(body).encode()
    lengths = (b"-1", b"+5", b"0x10", b"1e3", b"99999999999999999999", b"", b"5, 5", b"5 5", b"%d" % (len(data) + 1))
    more = rng.choice(
        (
            b"Content-Length:" + rng.choice(_SPACES) + rng.choice(lengths),
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: gzip, chunked",
            b"X-Long: " + b"a" * rng.choice((5000, 100_000)),
            b"\r\n".join(b"X-%d: a" % number for number in range(rng.choice((50, 5000)))),
            b"Expect: 100-continue",
            b"Expect: tea",
            b"No colon here",
            b" folded: line",
            b"X-\xff\xfe: \xff",
            b"Authorization: Bearer \0",
            b"Host: a",
            b": empty",
        )
    )
    return request(path, data, more), False


def _chunks(rng: Random) -> tuple[bytes, bool]:
    data = json.dumps(rng.choice(_BODIES)[1]).encode()
    size = rng.choice((b"%x" % len(data), b"-1", b"fffffffffffffffff", b"zz", b"", b"1;" + b"a" * 3000, b"0"))
    head = b"POST /completion HTTP/1.1\r\nHost: fuzz\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + size + rng.choice((b"\r\n", b"\n", b"")) + data + rng.choice(
        (b"\r\n0\r\n\r\n", b"0\r\n\r\n", b"")
    ), False


def _request_lines(rng: Random) -> tuple[bytes, bool]:
    method = rng.choice((b"GET", b"POST", b"get", b"PRI", b"CONNECT", b"A" * 5000, b"", b"PO ST", b"HEAD", b"OPTIONS"))
    path = rng.choice((b"/", b"*", b"//", b"/%", b"/%zz", b"/%00", b"/\xff", b"/a" * 40_000, b"http://x/health", b""))
    path = rng.choice((path, b"/slots/" + path, b"/health?" + path, b"/slots/99999999999999999999?action=erase"))
    version = rng.choice((b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9.9", b"HTTP/", b"", b"HTTP/1.1\0"))
    return b" ".join((method, path, version)) + b"\r\nHost: fuzz\r\nConnection: close\r\n\r\n", False


_KINDS: tuple[Callable[[Random], tuple[bytes, bool]], ...] = (
    *(_random_bytes, _accidents, _truncated, _two_at_once, _deep_json, _wrong_types, _numbers, _no_utf8, _headers),
    *(_chunks, _request_lines),
)
