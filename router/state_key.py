"""Looks at a state file before a decoder is asked to restore it: whose tokens, which cache, and whether it is whole.

A decoder takes any file of the right shape, empties the slot for one of a wrong shape, and knows neither the model
nor a checksum. So the router judges what it can see: the tokens in front, how the rows are laid down against what
this decoder has read before, the size that its writer told and the checksum that a provider may claim.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from router.one_line import one_line
from router.routes.choose import Outcome, Step, StepFailed, failed
from wire.errors import RemoteWireError
from wire.state_layout import Layout, read_layout
from wire.statefile import NewerForm, read_head, read_tokens

_HEAD_BYTES = 24


@dataclass(frozen=True, slots=True)
class Key:
    """What the file has to be. None where nobody said."""

    tokens: tuple[int, ...]
    layout: Layout | None = None
    n_bytes: int | None = None
    sha256: object = None
    """As a provider claimed it: any JSON value."""


def inspect(path: Path, key: Key) -> Layout | None:
    """How the file's rows are laid down, where it tells. Blocking. StepFailed: it is not to be restored."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            _judge_size(size, key)
            if key.sha256 is not None:
                _judge_digest(hashlib.file_digest(file, "sha256").hexdigest(), key.sha256)

            def read(offset: int, n_bytes: int) -> bytes:
                return os.pread(file.fileno(), n_bytes, offset) if offset < size else b""

            head = read_head(read(0, _HEAD_BYTES))
            _judge_tokens(read_tokens(read(0, head.state_offset)), key.tokens)
            layout = read_layout(head, read)
    except NewerForm:
        # The decoder knows better than this router.
        return None
    except RemoteWireError as error:
        raise failed(Step.INSPECT, Outcome.MALFORMED, reason=str(error)) from None
    except OSError as error:
        raise failed(Step.INSPECT, Outcome.FAILED, reason=str(error.strerror or error).lower()) from None
    _judge_layout(layout, key.layout)
    return layout


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


def _judge_layout(found: Layout | None, read_before: Layout | None) -> None:
    difference = found.difference(read_before) if found is not None and read_before is not None else None
    if difference is not None:
        raise failed(Step.INSPECT, Outcome.OTHER_LAYOUT, reason=difference)


def _corrupt(reason: str) -> StepFailed:
    return failed(Step.INSPECT, Outcome.CORRUPT, reason=reason)
