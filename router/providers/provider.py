"""What a route asks of a provider, whichever kind it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from router.handshake import Lent
from wire.provider import Claim


@dataclass(frozen=True, slots=True)
class Shapes:
    """What is known of the decoder's cache; None where it does not say."""

    model: str | None = None
    n_stream: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A prompt's tokens, and where their rows go: into lent regions, or into a state file."""

    tokens: tuple[int, ...]
    target: Lent | Path
    shapes: Shapes
    seconds: float
    """From the start to the provider's end."""
    limit_s: float
    """The whole limit that `seconds` is what is left of, for whoever reads that it was missed."""


@dataclass(frozen=True, slots=True)
class Prefilled:
    """A provider that ended as it should: its claim, if it made one, and the time it took."""

    claim: Claim | None
    took_ms: float
    n_bytes: int | None = None
    """Of the state file, where its writer tells."""


class Run(Protocol):
    """One provider at work."""

    async def result(self) -> Prefilled:
        """Waits for its end. StepFailed: it failed, or its time is over."""

    async def end(self) -> None:
        """Makes sure that nothing of it runs any more. Any number of times."""


class Provider(Protocol):
    """Starts runs."""

    @property
    def writes_regions(self) -> bool:
        """Whether it can fill a region; if not, only the state-file route is open to it."""

    async def start(self, job: Job) -> Run:
        """StepFailed: it could not be started."""

    async def close(self) -> None:
        """Gives up what outlives a run."""
