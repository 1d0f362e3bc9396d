"""One client's request on its way through the router: what is known of it, and how it ended, said once."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum

from router.deadline import Deadline
from router.log import Figures, Log
from router.metrics import Metrics
from router.proof import Timings, Use

SERVER = {"Server": "kvgate-router"}
NO_REASON = "none"


class Route(StrEnum):
    SHARED = "shared"
    STATE_FILE = "state-file"
    ENGINE = "engine"
    PLAIN = "plain"
    NONE = "none"
    """Refused before a route was chosen."""


class Ending(StrEnum):
    """Each request has exactly one."""

    SERVED = "served"
    REFUSED = "refused"
    """Answered with an error by the router itself."""
    DECODER_ERROR = "decoder-error"
    """Answered with the decoder's own error."""
    BROKEN = "broken"
    """Begun and not finished."""
    CANCELLED = "cancelled"
    """The client left."""


@dataclass(slots=True)
class Exchange:
    """Filled in as the request goes on; `finish` is called once, at its end."""

    request_id: str
    path: str
    log: Log
    deadline: Deadline
    started_ns: int = field(default_factory=time.perf_counter_ns)
    route: Route = Route.NONE
    reason: str = NO_REASON
    status: int = 0
    decoder: str | None = None
    """The address of the decoder that the slot is of."""
    slot: int | None = None
    n_prompt: int | None = None
    n_handed: int = 0
    handoff: Figures | None = None
    """Where the time of a handoff that succeeded went."""
    n_again: int = 0
    """Prompt tokens that were prefilled twice for this request."""
    use: Use | None = None
    timings: Timings | None = None
    first_byte_ms: float | None = None
    ending_to_be: Ending = Ending.SERVED
    """What the end will be called if nothing else happens."""
    ending: Ending | None = None
    broken_off: str = ""
    """How the decoder left off in the middle of a stream."""
    cut: bool = False
    """The router itself ends the request."""

    def first_byte_is_out(self) -> None:
        if self.first_byte_ms is None:
            self.first_byte_ms = (time.perf_counter_ns() - self.started_ns) / 1e6

    def headers(self) -> dict[str, str]:
        """What every answer says about its route."""
        return {
            "X-KVGate-Route": self.route,
            "X-KVGate-Reason": self.reason,
            "X-Request-Id": self.request_id,
            **SERVER,
        }

    def finish(self, ending: Ending, metrics: Metrics) -> None:
        """The lines and counts of the end."""
        if self.ending is not None:
            return
        self.ending = ending
        total_ms = (time.perf_counter_ns() - self.started_ns) / 1e6
        if ending is Ending.SERVED and self.handoff is not None and self.use is not Use.LOST:
            self.log.handed_over(self.n_prompt or 0, self.handoff, self.first_byte_ms or total_ms)
        self._count(metrics, total_ms)
        self._say(total_ms)

    def _count(self, metrics: Metrics, total_ms: float) -> None:
        metrics.ended(self.route, self.reason, str(self.ending), total_ms / 1e3)
        if self.first_byte_ms is not None:
            metrics.first_byte.labels(self.route).observe(self.first_byte_ms / 1e3)
        if self.timings is not None:
            metrics.tokens_cached.inc(max(0, self.timings.cached))
            metrics.tokens_evaluated.inc(max(0, self.timings.evaluated))

    def _say(self, total_ms: float) -> None:
        counted = self.timings
        fields = {
            "path": self.path,
            "status": self.status,
            "outcome": str(self.ending),
            "route": str(self.route),
            "reason": self.reason,
            "decoder": self.decoder,
            "slot": self.slot,
            "prompt": self.n_prompt,
            "handed": self.n_handed,
            "cached": counted.cached if counted is not None else None,
            "evaluated": counted.evaluated if counted is not None else None,
            "again": self.n_again,
            "first_byte_ms": _rounded(self.first_byte_ms),
            "total_ms": _rounded(total_ms),
        }
        shown = " ".join(f"{name}={'-' if value is None else value}" for name, value in fields.items())
        self.log.served(f"request {self.request_id} {shown}", **fields)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
