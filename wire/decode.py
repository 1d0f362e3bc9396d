"""The merged DECODE frame (generation C): control header, prompt segment, kv segment.

`hdr_len u32, hdr_hash u64, header JSON, prompt, kv`. Everything that decides whether the request is acceptable is
before the kv segment, so it is checked before the first KV byte is taken; the kv bytes are passed on as they come.
The kv hash is the receiver's to compare, over all bytes of the segment, when they have gone by (B12).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.errors import LocalWireError, RemoteWireError
from wire.fields import objects, one_object, parse_object, whole
from wire.hashes import encode_hash, maybe_hash, xxh3_64
from wire.hydra import MAX_STATE_BYTES

PREFIX = struct.Struct("<IQ")
MIN_VERSION = 3
MAX_HEADER_BYTES = 32_768
MAX_PROMPT_BYTES = 64 * 1024**2
MAX_SEGMENTS = 3
_MOST_VERSION = 2**31 - 1
_MOST_BYTES = {"prompt": MAX_PROMPT_BYTES, "kv": MAX_STATE_BYTES}
_REQUIRED = ("v", "kv_metadata", "segments")


@dataclass(frozen=True, slots=True)
class Segment:
    """One row of the segment table. `hash` None is unchecked."""

    id: str
    offset: int
    length: int
    hash: int | None = None


@dataclass(frozen=True, slots=True)
class ControlHeader:
    """What a merged DECODE asks for. `prompt` and `kv` are the two segments, contiguous from offset 0."""

    kv_metadata: Mapping[str, object]
    prompt: Segment
    kv: Segment
    model: str = ""
    model_metadata: Mapping[str, object] = field(default_factory=dict)
    generation: Mapping[str, object] = field(default_factory=dict)
    v: int = MIN_VERSION


@dataclass(frozen=True, slots=True)
class PromptSegment:
    """The whole prompt segment: JSON, of which only the size was checked."""

    data: bytes


@dataclass(frozen=True, slots=True)
class KvChunk:
    """Some of the kv segment, in order, never empty."""

    data: bytes


DecodeEvent = ControlHeader | PromptSegment | KvChunk


def encode_decode_head(header: ControlHeader, prompt: bytes) -> bytes:
    """A DECODE payload up to its kv segment, of which `header.kv.length` bytes are to follow."""
    if header.prompt.length != len(prompt):
        raise LocalWireError(f"the header says {header.prompt.length} bytes of prompt, there are {len(prompt)}")
    values = {
        "v": header.v,
        "model": header.model,
        "kv_metadata": header.kv_metadata,
        "model_metadata": header.model_metadata,
        "generation": header.generation,
        "segments": [_encode_segment(header.prompt), _encode_segment(header.kv)],
    }
    control = json.dumps(values, separators=(",", ":")).encode()
    if len(control) > MAX_HEADER_BYTES:
        raise LocalWireError(f"a control header of {len(control)} bytes, at most {MAX_HEADER_BYTES} are taken")
    return encode_control(control) + prompt


def encode_control(control: bytes) -> bytes:
    """The twelve bytes in front of a control header, and the header."""
    return PREFIX.pack(len(control), xxh3_64(control)) + control


def segments_for(prompt: bytes, kv_length: int, kv_hash: int | None = None) -> tuple[Segment, Segment]:
    """The table of a prompt and a kv segment of that length. No kv at all: length 0, "use what the slot holds"."""
    return Segment("prompt", 0, len(prompt), xxh3_64(prompt)), Segment("kv", len(prompt), kv_length, kv_hash)


class DecodeReader:
    """Fed with any chunking of a DECODE payload of `total` bytes; raises `RemoteWireError` at the first flaw."""

    def __init__(self, total: int) -> None:
        if total < PREFIX.size:
            raise RemoteWireError(f"a DECODE payload of {total} bytes is too short for its 12-byte prefix")
        self._total = total
        self._pending = bytearray()
        self._prefix: tuple[int, int] | None = None
        self._header: ControlHeader | None = None
        self._prompt_done = False
        self._kv_left = 0

    def receive(self, data: bytes) -> list[DecodeEvent]:
        self._pending += data
        events: list[DecodeEvent] = []
        if self._prefix is None and len(self._pending) >= PREFIX.size:
            self._prefix = self._read_prefix()
        if self._prefix is not None and self._header is None and len(self._pending) >= self._prefix[0]:
            self._header = self._read_header(*self._prefix)
            events.append(self._header)
        if self._header is not None:
            events += self._segments(self._header)
        return events

    def close(self) -> None:
        if self._header is None or not self._prompt_done or self._kv_left:
            raise RemoteWireError("the DECODE payload ends before its segments do")

    def _read_prefix(self) -> tuple[int, int]:
        length, digest = PREFIX.unpack(self._take(PREFIX.size))
        if length > MAX_HEADER_BYTES:
            raise RemoteWireError(f"a control header of {length} bytes, at most {MAX_HEADER_BYTES} are taken")
        if length > self._total - PREFIX.size:
            raise RemoteWireError(f"a control header of {length} bytes in a payload of {self._total}")
        return length, digest

    def _read_header(self, length: int, digest: int) -> ControlHeader:
        control = self._take(length)
        if xxh3_64(control) != digest:
            raise RemoteWireError(f"the control header hashes to {xxh3_64(control):016x}, not to {digest:016x}")
        header = decode_control(control, self._total - PREFIX.size - length)
        self._kv_left = header.kv.length
        return header

    def _segments(self, header: ControlHeader) -> list[DecodeEvent]:
        events: list[DecodeEvent] = []
        if not self._prompt_done and len(self._pending) >= header.prompt.length:
            self._prompt_done = True
            events.append(PromptSegment(self._take(header.prompt.length)))
        if self._prompt_done and self._pending:
            if len(self._pending) > self._kv_left:
                raise RemoteWireError(f"{len(self._pending) - self._kv_left} bytes behind the kv segment")
            self._kv_left -= len(self._pending)
            events.append(KvChunk(self._take(len(self._pending))))
        return events

    def _take(self, size: int) -> bytes:
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken


def decode_control(control: bytes, behind: int) -> ControlHeader:
    """The header JSON; `behind` is the number of payload bytes behind it, which its segments must fill exactly."""
    values = parse_object(control, "the control header")
    missing = [key for key in _REQUIRED if key not in values]
    if missing:
        raise RemoteWireError(f"the control header has no {' and no '.join(missing)}")
    v = whole(values["v"], "v", MIN_VERSION, _MOST_VERSION)
    prompt, kv = _decode_table(values["segments"], behind)
    model = values.get("model", "")
    if not isinstance(model, str):
        raise RemoteWireError("model in the control header is no string")
    return ControlHeader(
        kv_metadata=one_object(values["kv_metadata"], "kv_metadata"),
        prompt=prompt,
        kv=kv,
        model=model,
        model_metadata=one_object(values.get("model_metadata", {}), "model_metadata"),
        generation=one_object(values.get("generation", {}), "generation"),
        v=v,
    )


def _decode_table(table: object, behind: int) -> tuple[Segment, Segment]:
    """A prompt segment first and at most one kv segment behind it; each starts where the former ends."""
    segments = [_decode_segment(row) for row in objects(table, "segments", MAX_SEGMENTS)]
    ids = [segment.id for segment in segments]
    if ids not in (["prompt"], ["prompt", "kv"]):
        raise RemoteWireError(f"the segments are {', '.join(map(repr, ids))}, not 'prompt' and then 'kv'")
    end = 0
    for segment in segments:
        if segment.offset != end:
            raise RemoteWireError(f"segment {segment.id} starts at {segment.offset}, the one before ends at {end}")
        end += segment.length
    if end != behind:
        raise RemoteWireError(f"the segments fill {end} bytes, {behind} are there")
    prompt = segments[0]
    return prompt, segments[1] if len(segments) == 2 else Segment("kv", prompt.length, 0)


def _decode_segment(row: dict[str, Any]) -> Segment:
    segment_id, digest = row.get("id"), row.get("hash", "")
    if not isinstance(segment_id, str) or segment_id not in _MOST_BYTES or not isinstance(digest, str):
        raise RemoteWireError(f"segment {str(segment_id)[:40]!r} is neither 'prompt' nor 'kv', or its hash no string")
    offset = whole(row.get("offset"), f"offset of segment {segment_id}", 0, 2 * MAX_STATE_BYTES)
    length = whole(row.get("len"), f"len of segment {segment_id}", 0, _MOST_BYTES[segment_id])
    return Segment(segment_id, offset, length, maybe_hash(digest))


def _encode_segment(segment: Segment) -> dict[str, object]:
    digest = "" if segment.hash is None else encode_hash(segment.hash)
    return {"id": segment.id, "offset": segment.offset, "len": segment.length, "hash": digest}
