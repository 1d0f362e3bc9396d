"""The steps that are done to an engine, as values and as they stand in a file.

    - {name: filled, at: peer, slot: 0, prefill: {prompt: [{tokens: 30}]}}
    - {name: decoded, slot: 0, decode: {state_of: filled, as: v2, prompt: [{prompt_of: filled}], n_predict: 8}}
    - {name: put, slot: 0, put: {state_of: filled}}
    - {name: look, slot: 0, meta: true}

A `decode` is a merged DECODE: it waits for the stored result, and looks at STATE_META meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.shapes import Fields, Flag, Key, ListOf, MapOf, OneOf, Plain, Shape, Text, Whole
from harness.steps.blob_forms import BlobForm
from harness.steps.prompt_parts import PART, Part


class On(StrEnum):
    """Which engine a step is done to."""

    BUILD = "build"
    PEER = "peer"


class KvHash(StrEnum):
    """What a DECODE says of its kv segment."""

    GOOD = "good"
    BAD = "bad"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Prefill:
    """PREFILL of token ids. The state that comes back is kept for later steps."""

    prompt: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Get:
    """STATE_GET. The state that comes back is kept for later steps."""


@dataclass(frozen=True, slots=True)
class Put:
    """STATE_PUT of the state that an earlier step left."""

    state_of: str
    form: BlobForm = BlobForm.AS_IS


@dataclass(frozen=True, slots=True)
class Meta:
    """STATE_META."""


@dataclass(frozen=True, slots=True)
class Decode:
    """A merged DECODE; `state_of` empty sends no kv segment. `body` adds to what is generated with."""

    prompt: tuple[Part, ...]
    state_of: str = ""
    form: BlobForm = BlobForm.AS_IS
    n_predict: int = 8
    kv_hash: KvHash = KvHash.GOOD
    body: Mapping[str, Any] = field(default_factory=dict)


EngineAct = Prefill | Get | Put | Meta | Decode

_STEP_NAME = Text(r"[A-Za-z0-9_.-]+", "a step's name")
_FORM = OneOf(tuple(BlobForm))
_PROMPT = Key(ListOf(PART, least=1), "the parts of the prompt", required=True)
_STATE_OF = "the step whose state is sent"
_AS = "the form it is sent in; as it came unless said"


class _Only:
    """`true`, and nothing else."""

    def __init__(self, build: Any) -> None:
        self._build = build

    def parse(self, node: Any, place: Any) -> Any:
        if not Flag().parse(node, place):
            place.refuse(node, "expected true")
        return self._build()

    def schema(self) -> dict[str, Any]:
        return {"const": True}


def _put(state_of: str, **values: Any) -> Put:
    return Put(state_of, BlobForm(values.get("as", BlobForm.AS_IS)))


def _decode(**values: Any) -> Decode:
    form = BlobForm(values.pop("as", BlobForm.AS_IS))
    return Decode(form=form, kv_hash=KvHash(values.pop("hash", KvHash.GOOD)), **values)


ENGINE_ACTS: Mapping[str, Shape[EngineAct]] = {
    "prefill": Fields(Prefill, {"prompt": _PROMPT}),
    "get": _Only(Get),
    "put": Fields(_put, {"state_of": Key(_STEP_NAME, _STATE_OF, required=True), "as": Key(_FORM, _AS)}),
    "meta": _Only(Meta),
    "decode": Fields(
        _decode,
        {
            "prompt": _PROMPT,
            "state_of": Key(_STEP_NAME, f"{_STATE_OF}; left out, the slot is used as it is"),
            "as": Key(_FORM, _AS),
            "n_predict": Key(Whole(1, 100_000), "8 unless said"),
            "hash": Key(OneOf(tuple(KvHash)), "what is said of the kv segment; good unless said"),
            "body": Key(MapOf(Plain()), "more of what is generated with"),
        },
    ),
}
MEANS = {
    "prefill": "PREFILL of token ids",
    "get": "STATE_GET",
    "put": "STATE_PUT of an earlier step's state",
    "meta": "STATE_META",
    "decode": "a merged DECODE, and its stored result",
}
