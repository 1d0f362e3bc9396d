"""The provider that is a second llama-server: it prefills into a slot of its own and saves that slot into the file.

Both servers see the same folder. The claim is the save reply's `n_saved`, never an echo of what was asked. The
prompt runs as a stream, since that is what llama-server stops at once when its client leaves.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path

from router.deadline import Deadline
from router.decoder_client import DecoderClient
from router.errors import CutOff, DecoderError, NoAnswer, Refusal
from router.facts import Facts, read_facts, read_properties
from router.leases import Lease, Leases
from router.one_line import one_line
from router.providers.provider import Job, Prefilled
from router.routes.choose import Outcome, Step, failed
from router.slots import Prompt, SlotTable
from wire.errors import RemoteWireError
from wire.provider import Claim
from wire.sse import DONE, SseDecoder, SseEvent


class LlamaServerProvider:
    """A prefill server and the leases of its slots."""

    writes_regions = False

    def __init__(self, client: DecoderClient) -> None:
        self._client = client
        self._leases = Leases(SlotTable(), max_queue=1 << 16)
        self._facts: Facts | None = None

    def open(self, facts: Facts) -> None:
        """The server is there, and is what the decoders were found to fit."""
        self._facts = facts
        self._leases.table.add(0, facts.n_slots)

    async def look_again(self) -> None:
        """StepFailed: behind its address answers another one than the decoders fit, or nothing."""
        now = await read_properties(self._client)
        assert self._facts is not None
        if isinstance(now, Facts) and self._facts.is_still(now):
            return
        now = await read_facts(self._client)
        if isinstance(now, str):
            raise failed(Step.PROVIDER, Outcome.CUT_OFF, reason=now)
        difference = self._facts.change(now)
        if difference is not None:
            raise failed(Step.PROVIDER, Outcome.OTHER_MODEL, reason=difference)
        self._facts = now

    async def start(self, job: Job) -> LlamaServerRun:
        assert isinstance(job.target, Path), "a prefill server is given no regions"
        deadline = Deadline(job.seconds)
        prompt = Prompt.of_tokens(job.tokens)
        try:
            lease = await self._leases.acquire(prompt, deadline)
        except Refusal:
            raise failed(Step.PROVIDER, Outcome.TIMED_OUT, seconds=job.limit_s) from None
        return LlamaServerRun(self._client, self, lease, job.tokens, job.target.name, deadline, job.limit_s)

    async def close(self) -> None:
        self._client.close()


class LlamaServerRun:
    """One prompt in one slot of the prefill server."""

    def __init__(
        self,
        client: DecoderClient,
        server: LlamaServerProvider,
        lease: Lease,
        tokens: tuple[int, ...],
        filename: str,
        deadline: Deadline,
        seconds: float,
    ) -> None:
        self._client = client
        self._server = server
        self._lease = lease
        self._deadline = deadline
        self._seconds = seconds
        self._holds: Prompt | None = None
        self._work = asyncio.create_task(self._prefill_and_save(tokens, filename))
        # Not in the work itself: a task that is cancelled before it starts never gets to its `finally`.
        self._work.add_done_callback(lambda _: lease.release(self._holds))

    async def result(self) -> Prefilled:
        try:
            return await asyncio.shield(self._work)
        except NoAnswer:
            raise failed(Step.PROVIDER, Outcome.TIMED_OUT, seconds=self._seconds) from None
        except DecoderError as error:
            raise failed(Step.PROVIDER, Outcome.CUT_OFF, reason=str(error)) from None

    async def end(self) -> None:
        self._work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({self._work})
        if self._work.done() and not self._work.cancelled():
            self._work.exception()

    async def _prefill_and_save(self, tokens: tuple[int, ...], filename: str) -> Prefilled:
        started_ns = time.perf_counter_ns()
        slot = self._lease.slot.id
        await self._server.look_again()
        await self._prefill(tokens, slot)
        answer = await self._client.save(slot, filename, self._deadline.left())
        if not answer.ok:
            raise failed(Step.PROVIDER, Outcome.REFUSED, call="save", status=answer.status, body=one_line(answer.body))
        self._holds = Prompt.of_tokens(tokens)
        took_ms = (time.perf_counter_ns() - started_ns) / 1e6
        said = answer.json_object() or {}
        n_written = said.get("n_written")
        return Prefilled(Claim(said.get("n_saved"), took_ms), took_ms, n_written if type(n_written) is int else None)

    async def _prefill(self, tokens: tuple[int, ...], slot: int) -> None:
        """Evaluates the prompt; the one token that a completion makes at least is not kept by the slot."""
        body = json.dumps(
            {"prompt": tokens, "n_predict": 0, "temperature": 0, "id_slot": slot, "cache_prompt": True, "stream": True}
        ).encode()
        async with self._client.completion("/completion", body, self._deadline.left()) as upstream:
            received = await upstream.rest(self._deadline.left())
        if not 200 <= upstream.status < 300 or b'"error"' in received:
            raise failed(
                Step.PROVIDER, Outcome.REFUSED, call="prefill", status=upstream.status, body=one_line(received)
            )
        if not _finished(received):
            raise CutOff("its stream ended before its last frame")


def _finished(stream: bytes) -> bool:
    """Whether the stream has the frame that says that the completion stopped."""
    try:
        events = SseDecoder().receive(stream)
        frames = [json.loads(event.data) for event in events if isinstance(event, SseEvent) and event.data != DONE]
    except (RemoteWireError, ValueError, RecursionError):
        return False
    return any(isinstance(frame, dict) and frame.get("stop") is True for frame in frames)
