"""Looks at a state file before a decoder is asked to restore it: whose tokens, which cache, and whether it is whole.

A decoder takes any file of the right shape, empties the slot for one of a wrong shape, and knows neither the model
nor a checksum. So the router judges what it can see: the tokens in front, version and rows against those of the
decoder's own files, the size that its writer told and the checksum that a provider may claim.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from router.one_line import one_line
from router.routes.choose import Outcome, Step, StepFailed, failed
from wire.errors import RemoteWireError
from wire.state_layout import Read, StateKind, read_kind
from wire.statefile import read_tokens


@dataclass(frozen=True, slots=True)
class Key:
    """What the file has to be. None where nobody said."""

    tokens: tuple[int, ...]
    own: StateKind | None = None
    """What kind of file the decoder itself writes."""
    n_bytes: int | None = None
    sha256: object = None
    """As a provider claimed it: any JSON value."""


def inspect(path: Path, key: Key) -> None:
    """Blocking. StepFailed: the file is not to be restored."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            _judge_size(size, key)
            if key.sha256 is not None:
                _judge_digest(hashlib.file_digest(file, "sha256").hexdigest(), key.sha256)
            read = _reader(file.fileno())
            kind = read_kind(read)
            if kind.head is not None:
                _judge_tokens(read_tokens(read(0, kind.head.state_offset)), key.tokens)
    except RemoteWireError as error:
        raise failed(Step.INSPECT, Outcome.MALFORMED, reason=str(error)) from None
    except OSError as error:
        raise failed(Step.INSPECT, Outcome.FAILED, reason=str(error.strerror or error).lower()) from None
    misfit = kind.misfit(key.own) if key.own is not None else None
    if misfit is not None:
        raise failed(Step.INSPECT, Outcome.OTHER_LAYOUT, reason=misfit)


def kind_of(path: Path) -> StateKind:
    """What kind of file it is. Blocking. RemoteWireError: no state file, or one without tokens. OSError: unreadable."""
    with path.open("rb") as file:
        kind = read_kind(_reader(file.fileno()))
    if kind.head is not None and kind.head.n_tokens == 0:
        raise RemoteWireError("a state file without tokens")
    return kind


def _reader(descriptor: int) -> Read:
    size = os.fstat(descriptor).st_size
    return lambda offset, n_bytes: os.pread(descriptor, n_bytes, offset) if offset < size else b""


def _judge_size(size: int, key: Key) -> None:
    if key.n_bytes is not None and size != key.n_bytes:
        raise _corrupt(f"it has {size} bytes and not {key.n_bytes}")


def _judge_digest(found: str, claimed: object) -> None:
    if found != claimed:
        raise _corrupt(f"its sha256 is {found[:16]}... and not {one_line(str(claimed).encode(), 16)}...")


def _judge_tokens(found: tuple[int, ...], asked: tuple[int, ...]) -> None:
    if found == asked:
        return
    at = next((i for i, (one, other) in enumerate(zip(found, asked, strict=False)) if one != other), None)
    where = f"token {at} is {found[at]} and not {asked[at]}" if at is not None else f"{len(found)} of {len(asked)}"
    raise failed(Step.INSPECT, Outcome.OTHER_PROMPT, reason=where)


def _corrupt(reason: str) -> StepFailed:
    return failed(Step.INSPECT, Outcome.CORRUPT, reason=reason)
