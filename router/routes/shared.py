"""The shared route: the decoder lends its cache, the provider writes the rows into it, the decoder adopts them.

The router hands descriptors on and never maps what they stand for.
"""

from __future__ import annotations

import asyncio
import time

from router.decoder_client import Answer
from router.handshake import Handshake, Lent
from router.routes.choose import Outcome, Step, failed
from router.routes.handoff import (
    Handoff,
    HandoffStep,
    end_provider,
    judge_claim,
    ms_since,
    refused,
    run_steps,
    slot_action,
    start_provider,
)
from wire.errors import RemoteWireError


async def listen(handoff: Handoff) -> None:
    """A socket for the decoder to connect to."""
    try:
        handoff.handshake = Handshake(handoff.around.runtime.fresh_folder())
    except OSError as error:
        raise failed(Step.LISTEN, Outcome.FAILED, reason=str(error.strerror or error).lower()) from None
    handoff.left.callback(handoff.handshake.close)


async def share(handoff: Handoff) -> None:
    """Asks for the slot's cache; the answer and the message with the descriptors come in either order."""
    assert handoff.handshake is not None
    handoff.asked_ns = time.perf_counter_ns()
    message = asyncio.create_task(handoff.handshake.receive())
    handoff.left.callback(_close, message)
    answer = await _ask(handoff, str(handoff.handshake.path))
    handoff.lent = await _lent(handoff, message, _share_id(answer))
    handoff.share_ms = ms_since(handoff.asked_ns)
    handoff.share_status = answer.status


async def _ask(handoff: Handoff, path: str) -> Answer:
    n_tokens, limit_s = len(handoff.tokens), handoff.around.timeouts.share

    async def call(seconds: float) -> Answer:
        return await handoff.decoder.share(handoff.slot, path, n_tokens, seconds)

    answer = await slot_action(handoff, Step.SHARE, call, limit_s)
    if not answer.ok:
        # A refusal leaves the slot as it was.
        handoff.lease.in_doubt = False
        raise refused(Step.SHARE, answer, Outcome.NOT_SUPPORTED if answer.status == 501 else Outcome.REFUSED)
    return answer


def _share_id(answer: Answer) -> str:
    value = answer.json_object()
    if value is None:
        raise refused(Step.SHARE, answer, Outcome.MALFORMED)
    share_id = value.get("share_id")
    if not isinstance(share_id, str) or not share_id:
        raise refused(Step.SHARE, answer, Outcome.NO_SHARE_ID)
    return share_id


async def _lent(handoff: Handoff, message: asyncio.Task[Lent], share_id: str) -> Lent:
    """The regions, once the message is there and fits the answer."""
    seconds = handoff.deadline.cut(handoff.around.timeouts.descriptors)
    try:
        async with asyncio.timeout(seconds):
            lent = await asyncio.shield(message)
    except TimeoutError:
        raise failed(Step.DESCRIPTORS, Outcome.TIMED_OUT, seconds=seconds) from None
    except (RemoteWireError, OSError) as error:
        raise failed(Step.DESCRIPTORS, Outcome.MALFORMED, reason=str(error)) from None
    if lent.header.share_id != share_id:
        raise failed(Step.DESCRIPTORS, Outcome.MALFORMED, reason="its share_id is not the one that was answered")
    if lent.header.cells.count < len(handoff.tokens):
        reason = f"{lent.header.cells.count} cells for {len(handoff.tokens)} tokens"
        raise failed(Step.DESCRIPTORS, Outcome.MALFORMED, reason=reason)
    return lent


def _close(message: asyncio.Task[Lent]) -> None:
    """Descriptors that came are closed, and so are those that still come. Waits for nothing, so that nothing can come
    between."""
    message.cancel()
    message.add_done_callback(_close_what_came)


def _close_what_came(message: asyncio.Task[Lent]) -> None:
    if not message.cancelled() and message.exception() is None:
        message.result().close()


async def start(handoff: Handoff) -> None:
    """The provider, with the descriptors."""
    assert handoff.lent is not None
    if not handoff.around.provider.writes_regions:
        raise failed(Step.PROVIDER, Outcome.CANNOT_SHARE, status=handoff.share_status)
    await start_provider(handoff, handoff.lent)


async def compare_claim(handoff: Handoff) -> None:
    """What the provider says it wrote against what it was asked for."""
    judge_claim(handoff, into_region=True)


async def adopt(handoff: Handoff) -> None:
    """The decoder takes the cells as its own."""
    assert handoff.lent is not None
    share_id, started_ns = handoff.lent.header.share_id, time.perf_counter_ns()

    async def call(seconds: float) -> Answer:
        return await handoff.decoder.adopt(handoff.slot, share_id, handoff.tokens, seconds)

    answer = await slot_action(handoff, Step.ADOPT, call, handoff.around.timeouts.share)
    if not answer.ok or (answer.json_object() or {}).get("n_adopted") != len(handoff.tokens):
        raise refused(Step.ADOPT, answer)
    handoff.lease.in_doubt = False
    handoff.adopt_ms = ms_since(started_ns)
    handoff.adopted = True


STEPS: tuple[HandoffStep, ...] = (listen, share, start, end_provider, compare_claim, adopt)


async def hand_over(handoff: Handoff) -> None:
    """The whole route. StepFailed: the first step that failed."""
    await run_steps(handoff, STEPS)
