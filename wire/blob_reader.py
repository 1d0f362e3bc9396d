"""Reading a v2 or v3 state blob as it arrives, each check named as the protocol names it (B1 to B11).

Sizes are compared by subtraction from the announced total, so a size of 2^64-8 cannot wrap; what is kept between two
calls is never more than the token list of one slot. Checkpoint and KV bytes are passed on as they come: a router can
inspect a blob of gigabytes while it streams. B12 (hash) and B13 (what the KV reader consumed) are the receiver's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from wire.blob import (
    BLOB_HEAD,
    CHECKPOINT_HEAD,
    FLAG_CHECKPOINT,
    FLAG_RECURRENT_ONLY,
    KV_HEAD_BYTES,
    V2,
    V3,
    Checkpoint,
    CheckpointHead,
    StateBlob,
)
from wire.errors import RemoteWireError


class BlobRefused(RemoteWireError):
    """A blob that must not be restored, nor stored. `check` is the one it fails: "B3"."""

    def __init__(self, check: str, why: str) -> None:
        super().__init__(f"{check}: {why}")
        self.check = check


@dataclass(frozen=True, slots=True)
class BlobLimits:
    """What the receiving slot can hold. `from_prefill` adds that n_past must equal n_tok (B5)."""

    n_ctx: int
    n_vocab: int
    from_prefill: bool = False


class Part(Enum):
    """Which stretch of the blob some bytes belong to."""

    TARGET = "checkpoint of the main context"
    DRAFT = "checkpoint of the draft context"
    REST = "KV stream and logits"


@dataclass(frozen=True, slots=True)
class BlobHead:
    """A blob up to its flags, all of it checked."""

    version: int
    n_past: int
    tokens: tuple[int, ...]
    flags: int


@dataclass(frozen=True, slots=True)
class BlobPart:
    part: Part
    data: bytes


BlobEvent = BlobHead | CheckpointHead | BlobPart


class BlobReader:
    """Fed with any chunking of exactly `total` bytes; raises `BlobRefused` at the first check that fails."""

    def __init__(self, total: int, limits: BlobLimits) -> None:
        self._limits = limits
        self._left = total  # bytes of the blob behind what was taken so far
        self._pending = bytearray()
        self._events: list[BlobEvent] = []
        self._passing: Part | None = None
        self._passing_left = 0
        self._need = 1
        self._step: Callable[[bytes], None] = self._version
        self._head = BlobHead(0, 0, (), 0)
        self._n_tok = 0
        if total < 1:
            raise BlobRefused("B1", "the blob is empty")

    def receive(self, data: bytes) -> list[BlobEvent]:
        self._pending += data
        while self._advance():
            pass
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """No more bytes: an error unless all announced ones were seen."""
        missing = self._left - len(self._pending)
        if missing or self._passing is not Part.REST:
            raise RemoteWireError(f"the blob ends with {missing} of its bytes missing")

    def _advance(self) -> bool:
        if self._passing is not None and self._passing_left:
            return self._pass_on()
        if self._passing is Part.REST:
            if self._pending:
                raise RemoteWireError(f"{len(self._pending)} bytes behind the end of the blob")
            return False
        if len(self._pending) < self._need:
            return False
        self._passing = None
        self._step(self._take(self._need))
        return True

    def _take(self, size: int) -> bytes:
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        self._left -= len(taken)
        return taken

    def _pass_on(self) -> bool:
        chunk = self._take(min(self._passing_left, len(self._pending)))
        if not chunk or self._passing is None:
            return False
        self._passing_left -= len(chunk)
        self._events.append(BlobPart(self._passing, chunk))
        return True

    def _then(self, need: int, step: Callable[[bytes], None]) -> None:
        self._need, self._step = need, step

    def _version(self, taken: bytes) -> None:
        if taken[0] not in (V2, V3):
            raise BlobRefused("B2", f"the first byte is {taken[0]:#04x}, not version 2 or 3")
        if self._left < BLOB_HEAD.size:
            raise BlobRefused("B2", f"{self._left + 1} bytes are too short for a head of 10")
        self._head = replace(self._head, version=taken[0])
        self._then(BLOB_HEAD.size - 1, self._counts)

    def _counts(self, taken: bytes) -> None:
        n_past, n_tok = struct.unpack("<II", taken)
        if n_tok > (self._left - 1) // 4:
            raise BlobRefused("B3", f"{n_tok} tokens do not fit into the {self._left} bytes that are left")
        check_counts(n_past, n_tok, self._left - 1 - 4 * n_tok, self._limits)
        self._head = replace(self._head, n_past=n_past)
        self._n_tok = n_tok
        self._then(4 * n_tok + 1, self._tokens_and_flags)

    def _tokens_and_flags(self, taken: bytes) -> None:
        tokens = unpack_tokens(taken[:-1], self._limits)
        flags = taken[-1]
        if flags & ~(FLAG_CHECKPOINT | FLAG_RECURRENT_ONLY):
            raise BlobRefused("B8", f"flags {flags:#04x} have unknown bits")
        if flags == FLAG_RECURRENT_ONLY:
            raise BlobRefused("B8", "flags say recurrent-only without a checkpoint")
        if flags & FLAG_RECURRENT_ONLY and self._head.version == V2:
            raise BlobRefused("B8", "flags say recurrent-only, which version 2 does not know")
        self._head = replace(self._head, tokens=tokens, flags=flags)
        self._events.append(self._head)
        if not flags & FLAG_CHECKPOINT:
            self._rest()
        elif self._left < CHECKPOINT_HEAD.size + 8:
            raise BlobRefused("B9", f"{self._left} bytes are too short for a checkpoint of at least 32")
        else:
            self._then(CHECKPOINT_HEAD.size, self._checkpoint_head)

    def _checkpoint_head(self, taken: bytes) -> None:
        pos_min, pos_max, n_tokens, target_bytes = CHECKPOINT_HEAD.unpack(taken)
        if target_bytes > self._left - 8:
            raise BlobRefused("B9", f"a checkpoint of {target_bytes} bytes, {self._left} are left")
        if not (0 <= pos_min <= pos_max <= self._n_tok and 0 <= n_tokens <= self._n_tok):
            raise BlobRefused(
                "B10", f"a checkpoint at {pos_min}..{pos_max} of {n_tokens} tokens, in a prompt of {self._n_tok}"
            )
        recurrent_only = bool(self._head.flags & FLAG_RECURRENT_ONLY)
        self._events.append(CheckpointHead(pos_min, pos_max, n_tokens, recurrent_only))
        self._passing, self._passing_left = Part.TARGET, target_bytes
        self._then(8, self._draft_size)

    def _draft_size(self, taken: bytes) -> None:
        draft_bytes = int.from_bytes(taken, "little")
        if draft_bytes > self._left:
            raise BlobRefused("B9", f"a draft checkpoint of {draft_bytes} bytes, {self._left} are left")
        self._passing, self._passing_left = Part.DRAFT, draft_bytes
        self._then(0, lambda _: self._rest())

    def _rest(self) -> None:
        if self._left < KV_HEAD_BYTES:
            raise BlobRefused("B11", f"{self._left} bytes are too short for a KV stream")
        self._passing, self._passing_left = Part.REST, self._left


def read_blob(data: bytes, limits: BlobLimits) -> StateBlob:
    """A whole v2 or v3 blob that is in memory already."""
    reader = BlobReader(len(data), limits)
    head: BlobHead | None = None
    checkpoint: CheckpointHead | None = None
    parts = {part: b"" for part in Part}
    for event in reader.receive(data):
        match event:
            case BlobHead():
                head = event
            case CheckpointHead():
                checkpoint = event
            case BlobPart(part, chunk):
                parts[part] += chunk
    reader.close()
    if head is None:
        raise RemoteWireError("the blob ends inside its head")
    kept = None if checkpoint is None else Checkpoint(checkpoint, parts[Part.TARGET], parts[Part.DRAFT])
    return StateBlob(head.version, head.n_past, head.tokens, parts[Part.REST], kept)


def check_counts(n_past: int, n_tok: int, behind: int, limits: BlobLimits) -> None:
    """B4 to B6; `behind` is the number of bytes behind the tokens and flags."""
    if n_tok > limits.n_ctx:
        raise BlobRefused("B4", f"{n_tok} tokens, the slot holds {limits.n_ctx}")
    if n_past > limits.n_ctx:
        raise BlobRefused("B5", f"n_past {n_past}, the slot holds {limits.n_ctx}")
    if limits.from_prefill and n_past != n_tok:
        raise BlobRefused("B5", f"n_past {n_past} in a PREFILL blob of {n_tok} tokens")
    if n_tok == 0 and (n_past > 0 or behind > 0):
        raise BlobRefused("B6", "KV without tokens cannot be matched to a prompt")


def unpack_tokens(data: bytes, limits: BlobLimits) -> tuple[int, ...]:
    """B7."""
    tokens = struct.unpack(f"<{len(data) // 4}i", data)
    for at, token in enumerate(tokens):
        if not 0 <= token < limits.n_vocab:
            raise BlobRefused("B7", f"token {token} at {at} is not in a vocabulary of {limits.n_vocab}")
    return tokens
