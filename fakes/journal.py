"""The write side of the journal: what a fake saw and did, one JSON line for each event.

Every line is one write to a file opened for appending, so that several processes may share a file and a killed
one leaves whole lines. The clock is handed in.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from typing import Any

KEPT = 10_000
EVENTS = frozenset(
    (
        *("start", "ready", "restart", "end", "reset", "disconnect"),
        *("fault", "fault_no_effect", "held", "released", "hangs"),
        *("tokenize", "apply_template", "completion", "share", "adopt", "save", "restore", "erase"),
        *("connected", "disconnected", "rpc", "execution", "prefill", "prefill_refused", "prompt_match", "state_get"),
        *("decode_apply", "decode_read", "decode_cancelled", "reserved", "unreserved", "swap", "restarted"),
        *("rows", "claim"),
    )
)
"""All that a fake's journal may say: of its process, of faults and holds, of a decoder, an engine, a provider."""


class Journal:
    """One fake's journal. Without a path nothing is written; with `keep` the last entries stay readable."""

    def __init__(self, path: str | None, who: str, clock_ns: Callable[[], int], *, keep: bool = False) -> None:
        self._fd = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._who = who
        self._clock_ns = clock_ns
        self._seq = 0
        self.kept: deque[dict[str, Any]] | None = deque(maxlen=KEPT) if keep else None

    @property
    def wanted(self) -> bool:
        """Whether anybody reads it: a long entry need not be put together otherwise."""
        return self._fd is not None or self.kept is not None

    def write(self, event: str, **fields: Any) -> None:
        if not self.wanted:
            return
        self._seq += 1
        entry = {"t_ns": self._clock_ns(), "seq": self._seq, "who": self._who, "pid": os.getpid(), "event": event}
        entry |= fields
        if self.kept is not None:
            self.kept.append(entry)
        if self._fd is not None:
            os.write(self._fd, json.dumps(entry, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
