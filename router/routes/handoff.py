"""What the steps of a handoff share: the request's part they work on, what they leave for each other, and how a list of
steps is run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from router import claims
from router.config import Timeouts
from router.deadline import Deadline
from router.decoder_client import Answer, DecoderClient
from router.errors import CutOff, NoAnswer, Unreachable
from router.handshake import Handshake, Lent
from router.leases import Lease
from router.log import Figures
from router.one_line import one_line
from router.own_state import OwnState
from router.private_files import Place, RuntimeFolder
from router.providers.provider import Job, Prefilled, Provider, Run, Shapes
from router.routes.choose import Outcome, Step, StepFailed, failed
from wire.state_layout import StateKind


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all handoffs of a router use."""

    provider: Provider
    permits: asyncio.Semaphore
    timeouts: Timeouts
    runtime: RuntimeFolder
    state_files: Place | None


@dataclass(slots=True)
class Handoff:
    """One attempt to get a prompt's rows into a leased slot."""

    tokens: tuple[int, ...]
    decoder: DecoderClient
    lease: Lease
    shapes: Shapes
    around: Surroundings
    deadline: Deadline
    left: AsyncExitStack
    """What must be undone when the handoff has ended, however it ended."""
    own_state: OwnState
    """What is known of the files that this decoder writes itself."""
    handshake: Handshake | None = None
    share_status: int = 0
    lent: Lent | None = None
    file: Path | None = None
    run: Run | None = None
    prefilled: Prefilled | None = None
    asked_ns: int = 0
    share_ms: float = 0.0
    adopt_ms: float = 0.0
    adopted: bool = False
    own_kind: StateKind | None = None
    restore_ms: float = 0.0

    @property
    def slot(self) -> int:
        return self.lease.slot.id

    def figures(self) -> Figures:
        prefilled = self.prefilled
        return Figures(
            prefill=claims.prefill_ms(prefilled.claim, prefilled.took_ms) if prefilled is not None else 0.0,
            restore=self.restore_ms,
            share=self.share_ms + self.adopt_ms if self.adopted else 0.0,
        )


HandoffStep = Callable[[Handoff], Awaitable[None]]


async def run_steps(handoff: Handoff, steps: tuple[HandoffStep, ...]) -> None:
    """One step after the other. StepFailed: the first that failed."""
    for step in steps:
        await step(handoff)


async def start_provider(handoff: Handoff, target: Lent | Path) -> None:
    """Starts the provider when its turn has come; it is ended with the handoff at the latest."""
    around = handoff.around
    seconds = handoff.deadline.cut(around.timeouts.provider)
    deadline = Deadline(seconds)
    try:
        async with asyncio.timeout(seconds):
            await around.permits.acquire()
    except TimeoutError:
        raise failed(Step.PROVIDER, Outcome.TIMED_OUT, seconds=seconds) from None
    handoff.left.callback(around.permits.release)
    job = Job(handoff.tokens, target, handoff.shapes, deadline.left(), seconds)
    handoff.run = await around.provider.start(job)
    handoff.left.push_async_callback(handoff.run.end)


async def end_provider(handoff: Handoff) -> None:
    """Waits for the provider's own end."""
    assert handoff.run is not None
    handoff.prefilled = await handoff.run.result()


def judge_claim(handoff: Handoff, *, into_region: bool) -> None:
    """StepFailed: the provider claims another number of tokens than it was asked for."""
    assert handoff.prefilled is not None
    wrong = claims.judge(handoff.prefilled.claim, len(handoff.tokens), into_region=into_region)
    if wrong is not None:
        raise wrong


async def slot_action(
    handoff: Handoff, step: Step, call: Callable[[float], Awaitable[Answer]], limit_s: float
) -> Answer:
    """A slot action's answer, whatever its status. The slot is in doubt until the caller knows what it means."""
    seconds = handoff.deadline.cut(limit_s)
    handoff.lease.in_doubt = True
    try:
        return await call(seconds)
    except Unreachable as error:
        handoff.lease.in_doubt = False
        raise failed(step, Outcome.UNREACHABLE, reason=str(error)) from None
    except NoAnswer:
        raise failed(step, Outcome.TIMED_OUT, seconds=seconds) from None
    except CutOff as error:
        raise failed(step, Outcome.CUT_OFF, reason=str(error)) from None


def refused(step: Step, answer: Answer, outcome: Outcome = Outcome.REFUSED) -> StepFailed:
    """The failure that an answer is."""
    return failed(step, outcome, status=answer.status, body=one_line(answer.body))


def ms_since(start_ns: int) -> float:
    return (time.perf_counter_ns() - start_ns) / 1e6
