"""The state-file route: the provider writes the slot's state into a file, the decoder restores it."""

from __future__ import annotations

import asyncio
import time

from router.decoder_client import Answer
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
from router.state_key import Key, inspect


async def make_file(handoff: Handoff) -> None:
    """Made by the router, for itself alone: a server that saves overwrites it in place."""
    assert handoff.around.state_files is not None
    try:
        handoff.file = handoff.around.state_files.new_file(".bin")
    except OSError as error:
        raise failed(Step.STATE_FILE, Outcome.FAILED, reason=str(error.strerror or error).lower()) from None
    path = handoff.file
    handoff.left.callback(lambda: path.unlink(missing_ok=True))


async def start(handoff: Handoff) -> None:
    """The provider, with the file's path."""
    assert handoff.file is not None
    await start_provider(handoff, handoff.file)


async def compare_claim(handoff: Handoff) -> None:
    """What the provider says it wrote against what it was asked for."""
    judge_claim(handoff, into_region=False)


async def inspect_file(handoff: Handoff) -> None:
    """The file is this prompt's, whole, and of the kind that the decoder reads. Only then is the decoder asked."""
    assert handoff.file is not None
    assert handoff.prefilled is not None
    claim = handoff.prefilled.claim
    key = Key(handoff.tokens, handoff.layout, handoff.prefilled.n_bytes, claim.sha256 if claim is not None else None)
    handoff.layout = await asyncio.to_thread(inspect, handoff.file, key)


async def restore(handoff: Handoff) -> None:
    """The decoder reads the file into the slot."""
    assert handoff.file is not None
    name, started_ns = handoff.file.name, time.perf_counter_ns()

    async def call(seconds: float) -> Answer:
        return await handoff.decoder.restore(handoff.slot, name, seconds)

    answer = await slot_action(handoff, Step.RESTORE, call, handoff.around.timeouts.restore)
    if not answer.ok or (answer.json_object() or {}).get("n_restored") != len(handoff.tokens):
        raise refused(Step.RESTORE, answer)
    handoff.lease.in_doubt = False
    handoff.restore_ms = ms_since(started_ns)


STEPS: tuple[HandoffStep, ...] = (make_file, start, end_provider, compare_claim, inspect_file, restore)


async def hand_over(handoff: Handoff) -> None:
    """The whole route. StepFailed: the first step that failed."""
    await run_steps(handoff, STEPS)
