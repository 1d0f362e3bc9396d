"""The provider contract: one JSON line in, the last non-blank line of output as its claim.

Knows nothing of processes, and does not judge a claim: whether `n_tokens` is a number at all, and whether it
is the right one, is for the router to say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from wire.errors import LocalWireError, RemoteWireError
from wire.fields import objects, parse_object, text, whole
from wire.region import (
    MAX_CELLS,
    MAX_REGIONS,
    MAX_ROW_BYTES,
    Cells,
    Region,
    Tensor,
    check_layout,
    read_cells,
    read_region,
    read_tensors,
    tensors_json,
)

VERSION = 1
SHARED = "shared"
STATE_FILE = "state-file"
MAX_CLAIM_BYTES = 64 << 10
MAX_REQUEST_BYTES = 64 << 20

_MAX_FD = 1 << 20
_MAX_TOKEN = 0x7FFFFFFF
_MAX_INT_DIGITS = 100


@dataclass(frozen=True, slots=True)
class SharedTarget:
    """Where the rows go: regions under inherited descriptors, one descriptor number for each region."""

    fds: tuple[int, ...]
    regions: tuple[Region, ...]
    tensors: tuple[Tensor, ...]
    cells: Cells


@dataclass(frozen=True, slots=True)
class FileTarget:
    """Where the rows go: a state file that exists already and is overwritten in place."""

    path: str


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """What a provider is asked for. A shape is None where the router does not know it."""

    tokens: tuple[int, ...]
    target: SharedTarget | FileTarget
    model: str | None = None
    n_layer: int | None = None
    n_stream: int | None = None
    k_type: str | None = None
    v_type: str | None = None
    row_bytes: int | None = None
    n_past: int = 0
    v: int = VERSION

    @property
    def route(self) -> str:
        return SHARED if isinstance(self.target, SharedTarget) else STATE_FILE


@dataclass(frozen=True, slots=True)
class Claim:
    """What the provider said it did, as it said it: any JSON value, NaN and Infinity included."""

    n_tokens: object
    prefill_ms: object = None
    sha256: object = None
    """Of the state file, 64 hex digits: whoever restores it can tell whether it is still what was written."""


def encode_request(request: ProviderRequest) -> bytes:
    """One JSON line with its line end. LocalWireError: a request that a provider would refuse."""
    value: dict[str, Any] = {
        "v": request.v,
        "route": request.route,
        "model": request.model,
        "tokens": list(request.tokens),
        "n_past": request.n_past,
        "n_layer": request.n_layer,
        "n_stream": request.n_stream,
        "k_type": request.k_type,
        "v_type": request.v_type,
        "row_bytes": request.row_bytes,
    }
    value |= _target_json(request.target)
    try:
        _request(value)
    except RemoteWireError as error:
        raise LocalWireError(str(error)) from None
    return json.dumps(value).encode() + b"\n"


def _target_json(target: SharedTarget | FileTarget) -> dict[str, Any]:
    if isinstance(target, FileTarget):
        return {"state_file": target.path}
    if len(target.fds) != len(target.regions):
        raise LocalWireError(f"{len(target.fds)} descriptors for {len(target.regions)} regions")
    regions = [
        {"fd": fd, "size": region.size, "offset": region.offset, "layout": region.layout}
        for fd, region in zip(target.fds, target.regions, strict=True)
    ]
    cells = {"first": target.cells.first, "count": target.cells.count}
    return {"regions": regions, "tensors": tensors_json(target.tensors), "cells": cells}


def decode_request(line: bytes) -> ProviderRequest:
    """A request out of its line. RemoteWireError: no JSON, another version, a field missing or out of range."""
    if len(line) > MAX_REQUEST_BYTES:
        raise RemoteWireError(f"a request of {len(line)} bytes, allowed are {MAX_REQUEST_BYTES}")
    if not line.endswith(b"\n"):
        raise RemoteWireError(f"a request of {len(line)} bytes without its line end")
    return _request(parse_object(line, "the request"))


def _request(value: dict[str, Any]) -> ProviderRequest:
    version = whole(value.get("v"), "v", VERSION, VERSION)
    return ProviderRequest(
        tokens=_tokens(value.get("tokens")),
        target=_target(value),
        model=_maybe_text(value.get("model"), "model", 4096),
        n_layer=_maybe_whole(value.get("n_layer"), "n_layer", 1 << 16),
        n_stream=_maybe_whole(value.get("n_stream"), "n_stream", 1 << 16),
        k_type=_maybe_text(value.get("k_type"), "k_type", 32),
        v_type=_maybe_text(value.get("v_type"), "v_type", 32),
        row_bytes=_maybe_whole(value.get("row_bytes"), "row_bytes", MAX_ROW_BYTES),
        n_past=whole(value.get("n_past"), "n_past", 0, MAX_CELLS),
        v=version,
    )


def _tokens(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MAX_CELLS:
        raise RemoteWireError("tokens is not a list of token ids")
    for index, token in enumerate(value):
        if type(token) is not int or not 0 <= token <= _MAX_TOKEN:
            whole(token, f"tokens[{index}]", 0, _MAX_TOKEN)
    return tuple(value)


def _target(value: dict[str, Any]) -> SharedTarget | FileTarget:
    route = value.get("route")
    if route == STATE_FILE:
        return FileTarget(text(value.get("state_file"), "state_file", 4096))
    if route != SHARED:
        raise RemoteWireError(f"route is {route!r:.60}, known are {SHARED!r} and {STATE_FILE!r}")
    items = objects(value.get("regions"), "regions", MAX_REGIONS)
    regions = tuple(read_region(item, f"regions[{i}]") for i, item in enumerate(items))
    fds = tuple(whole(item.get("fd"), f"regions[{i}].fd", 0, _MAX_FD) for i, item in enumerate(items))
    tensors, cells = read_tensors(value), read_cells(value)
    check_layout(regions, tensors, cells)
    return SharedTarget(fds, regions, tensors, cells)


def _maybe_text(value: object, name: str, max_chars: int) -> str | None:
    return None if value is None else text(value, name, max_chars)


def _maybe_whole(value: object, name: str, high: int) -> int | None:
    return None if value is None else whole(value, name, 0, high)


def encode_claim(claim: Claim) -> bytes:
    """The last line of a provider's output."""
    value = {"n_tokens": claim.n_tokens, "prefill_ms": claim.prefill_ms}
    if claim.sha256 is not None:
        value["sha256"] = claim.sha256
    return json.dumps(value).encode() + b"\n"


def last_claim(stdout: bytes) -> Claim | None:
    """The claim on the last non-blank line; None when that is longer than 64 KiB, no object or names no count."""
    line = stdout.rstrip()
    line = line[max(line.rfind(b"\n"), line.rfind(b"\r")) + 1 :]
    if not line or len(line) > MAX_CLAIM_BYTES:
        return None
    try:
        value = json.loads(line, parse_int=_whole_or_float)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "n_tokens" not in value:
        return None
    return Claim(value["n_tokens"], value.get("prefill_ms"), value.get("sha256"))


def _whole_or_float(digits: str) -> int | float:
    # Python refuses to read whole numbers of thousands of digits. Such a claim is absurd, not absent.
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)
