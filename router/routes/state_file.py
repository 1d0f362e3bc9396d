"""The state-file route: the provider writes the slot's state into a file, the decoder restores it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from router.decoder_client import Answer
from router.one_line import one_line
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
from router.state_key import Key, inspect, kind_of
from wire.errors import RemoteWireError
from wire.state_layout import StateKind

N_OWN_TOKENS = 2
"""As few as can be, and more than one: a recurrent state of one cell begins like an attention state of one stream."""


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


async def know_decoder(handoff: Handoff) -> None:
    """What kind of file this decoder writes and so reads: looked at before its first handoff, while the provider is
    at work, in a file of its own that it saves from the leased slot."""
    seconds = handoff.deadline.cut(handoff.around.timeouts.restore)
    try:
        async with asyncio.timeout(seconds):
            handoff.own_kind = await handoff.own_state.learn(lambda: _save_own(handoff))
    except TimeoutError:
        raise failed(Step.OWN_STATE, Outcome.TIMED_OUT, seconds=seconds) from None


async def _save_own(handoff: Handoff) -> StateKind:
    """The slot holds the prompt's last tokens afterwards and stays in doubt, so that whoever does not restore over them
    erases them. The last ones, since a decoder that only says that it restored would find the first ones reused."""
    assert handoff.around.state_files is not None
    decoder, slot, tokens = handoff.decoder, handoff.slot, handoff.tokens[-N_OWN_TOKENS:]
    try:
        path = handoff.around.state_files.new_file(".own.bin")
    except OSError as error:
        raise failed(Step.STATE_FILE, Outcome.FAILED, reason=str(error.strerror or error).lower()) from None
    handoff.lease.files.append(path)
    await _ask(handoff, "completion", lambda seconds: decoder.evaluate(slot, tokens, seconds))
    await _ask(handoff, "save", lambda seconds: decoder.save(slot, path.name, seconds))
    try:
        kind = await asyncio.to_thread(kind_of, path)
    except (RemoteWireError, OSError) as error:
        raise failed(Step.OWN_STATE, Outcome.MALFORMED, reason=str(error)) from None
    handoff.lease.files.remove(path)
    path.unlink(missing_ok=True)
    return kind


async def _ask(handoff: Handoff, call: str, ask: Callable[[float], Awaitable[Answer]]) -> None:
    answer = await slot_action(handoff, Step.OWN_STATE, ask, handoff.around.timeouts.restore)
    if not answer.ok:
        raise failed(Step.OWN_STATE, Outcome.REFUSED, call=call, status=answer.status, body=one_line(answer.body))


async def compare_claim(handoff: Handoff) -> None:
    """What the provider says it wrote against what it was asked for."""
    judge_claim(handoff, into_region=False)


async def inspect_file(handoff: Handoff) -> None:
    """The file is this prompt's, whole, and of the kind that the decoder reads. Only then is the decoder asked."""
    assert handoff.file is not None
    assert handoff.prefilled is not None
    claim = handoff.prefilled.claim
    sha256 = claim.sha256 if claim is not None else None
    key = Key(handoff.tokens, handoff.own_kind, handoff.prefilled.n_bytes, sha256)
    await asyncio.to_thread(inspect, handoff.file, key)


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


STEPS: tuple[HandoffStep, ...] = (make_file, start, know_decoder, end_provider, compare_claim, inspect_file, restore)


async def hand_over(handoff: Handoff) -> None:
    """The whole route. StepFailed: the first step that failed."""
    await run_steps(handoff, STEPS)
