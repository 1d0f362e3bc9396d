"""The engine route: the prompt is prefilled by one engine, its state goes to the slot of another over the RPC.

The state goes as part of a merged DECODE where the receiver says that it takes one, and the reply is then that
DECODE's stored result; else by STATE_PUT, and the client's own body follows over HTTP as on every route. It passes
through in chunks and is never kept: what has to be sent again is fetched again from the slot that prefilled it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

from router.config import Timeouts
from router.deadline import Deadline, happens
from router.decoder_client import Upstream
from router.engines.engine import BACKOFF_S, Engine, Look
from router.engines.identity import Verdict, judge
from router.engines.results import CORRUPT, EngineReply, Stored
from router.engines.rpc import Session, status_word
from router.engines.source import Prefilling, Source
from router.engines.transfer import Delivered, Inspection, Known, deliver
from router.errors import DecoderError, NoAnswer, Refusal, Unreachable
from router.facts import Facts
from router.janitor import Janitor
from router.leases import Lease, Leases
from router.log import Figures
from router.metrics import Metrics
from router.one_line import one_line
from router.request_body import ClientRequest
from router.routes.choose import Next, Outcome, Step, StepFailed, failed
from router.routes.handoff import ms_since
from router.slots import Prompt
from wire.blob_reader import BlobLimits
from wire.decode import ControlHeader, encode_decode_head, segments_for
from wire.errors import RemoteWireError
from wire.hydra import Op, Status
from wire.hydra_identity import Identity, encode_identity
from wire.hydra_meta import DecodeAccepted, decode_decode_meta, decode_put_meta

MAX_COUNT = 2**31 - 1
"""What no slot is larger than, and no vocabulary, where an engine does not say."""
_SLOT_TAKEN = ("slot is busy", "slot reserved")
_OTHER_MODEL = ("model_capabilities_mismatch", "Gate B")

Follow = Callable[[StepFailed, bool], Next]
"""Says what failed and what is done next; the flag: whether the state may be asked for once more."""


@dataclass(frozen=True, slots=True)
class EngineSurroundings:
    """What all handoffs over engines use: the one that prefills, with its slots."""

    prefiller: Engine
    leases: Leases
    janitor: Janitor
    timeouts: Timeouts
    metrics: Metrics

    def handoff(
        self,
        request: ClientRequest,
        tokens: tuple[int, ...],
        lease: Lease,
        receiver: Engine,
        facts: Facts | None,
        deadline: Deadline,
        trace: str,
    ) -> EngineHandoff:
        """For one request. `facts`: of the receiver, as far as they are known."""
        return EngineHandoff(request, tokens, lease, receiver, limits_of(facts), self, deadline, trace)

    @staticmethod
    def reply(upstream: Upstream) -> EngineReply:
        """An engine's reply over HTTP, as a decoder's would be."""
        return EngineReply(upstream)


@dataclass(frozen=True, slots=True)
class Landed:
    """The state is in the slot, as far as anybody said. `stored`: the reply is that DECODE's, and comes already."""

    reach: int
    figures: Figures
    stored: Stored | None


def limits_of(facts: Facts | None) -> BlobLimits:
    """What a decoder's slot can hold, as far as it says."""
    n_vocab = dict(facts.shape).get("n_vocab") if facts is not None else None
    n_ctx = facts.n_ctx if facts is not None else None
    return BlobLimits(n_ctx or MAX_COUNT, n_vocab if isinstance(n_vocab, int) else MAX_COUNT)


class _From(Enum):
    PREFILL = auto()
    HTTP = auto()
    SLOT = auto()
    """It is in the prefilling engine's slot already."""


@dataclass(slots=True)
class EngineHandoff:
    """One request's way over two engines."""

    request: ClientRequest
    tokens: tuple[int, ...]
    lease: Lease
    engine: Engine
    limits: BlobLimits
    around: EngineSurroundings
    deadline: Deadline
    trace: str
    prefill_ms: float = 0.0
    restore_ms: float = 0.0
    stored: Stored | None = None
    """Of the last DECODE that was accepted."""
    _identity: Identity = field(default_factory=Identity)
    """Of the state, as PREFILL said it."""
    _source_lease: Lease | None = None

    @property
    def slot(self) -> int:
        return self.lease.slot.id

    async def run(self, follow: Follow) -> Landed | StepFailed:
        """The state in the slot, or the failure after which the receiver prefills the prompt itself."""
        try:
            async with self._prefill_slot() as lease, self._prefilling(lease) as prefilling:
                return await self._tries(prefilling, follow)
        except StepFailed as failure:
            follow(failure, False)
            return failure

    @asynccontextmanager
    async def _prefill_slot(self) -> AsyncIterator[Lease]:
        """A slot of the prefilling engine, kept until its state has arrived: it is where it can be had again."""
        seconds = self.deadline.cut(self.around.timeouts.provider)
        prompt = Prompt.of_tokens(self.tokens)
        try:
            lease = await self.around.leases.acquire(prompt, Deadline(seconds))
        except Refusal:
            raise failed(Step.PREFILL, Outcome.NO_SLOT, seconds=seconds) from None
        self._source_lease = lease
        try:
            yield lease
        finally:
            if lease.in_doubt:
                self.around.janitor.clean(lease, self.around.prefiller)
            else:
                lease.release(prompt)

    @asynccontextmanager
    async def _prefilling(self, lease: Lease) -> AsyncIterator[Prefilling]:
        engine, around = self.around.prefiller, self.around
        try:
            async with engine.session(self.trace, self.deadline) as session:
                yield Prefilling(
                    engine, session, lease.slot.id, self.request, len(self.tokens), self.deadline, around.timeouts
                )
        except NoAnswer:
            seconds = self.deadline.cut(around.timeouts.provider)
            raise failed(Step.PREFILL, Outcome.TIMED_OUT, seconds=seconds) from None

    async def _tries(self, prefilling: Prefilling, follow: Follow) -> Landed | StepFailed:
        """One try after the other, each for a reason of its own, until one lands or none is left."""
        how, merged, again, pauses = _From.PREFILL, True, True, iter(BACKOFF_S)
        while True:
            try:
                landed = await self._try(prefilling, how, merged=merged)
                if landed is not None:
                    return landed
                how = _From.SLOT
                await self._pause(next(pauses, None))
                continue
            except StepFailed as failure:
                error = failure
            match follow(error, again):
                case Next.PREFILL_HTTP:
                    self.around.metrics.engine_prefill_fallbacks.inc()
                    how = _From.HTTP
                case Next.AGAIN:
                    how, again = _From.SLOT, False
                case Next.STATE_PUT:
                    how, merged = _From.SLOT, False
                case _:
                    return error

    async def _pause(self, seconds: float | None) -> None:
        """StepFailed: the slot has been busy for long enough."""
        if seconds is None:
            raise failed(Step.STATE_PUT, Outcome.BUSY, slot=self.slot)
        await happens(asyncio.Event(), self.deadline.cut(seconds))

    async def _try(self, prefilling: Prefilling, how: _From, *, merged: bool) -> Landed | None:
        """The state from one engine to the other, once. None: the receiver's slot is busy."""
        source = await self._source(prefilling, how)
        step = Step.STATE_PUT
        try:
            async with self.engine.session(self.trace, self.deadline) as session:
                look = await self._receiver(session)
                self._guard(look)
                state = Inspection(source, self.limits)
                known = await state.head(self.tokens)
                if merged and look.merged:
                    step = Step.DECODE
                    return await self._decode(session, state, known, look, source)
                return await self._put(session, state, known)
        except DecoderError as error:
            raise self._broken(step, error) from None

    async def _source(self, prefilling: Prefilling, how: _From) -> Source:
        assert self._source_lease is not None
        self._source_lease.in_doubt = True
        if how is _From.PREFILL:
            source = await prefilling.prefill()
            self.prefill_ms = source.prefill_ms or 0.0
            self._identity = source.identity
            if source.model_fallback:
                self.around.metrics.engine_model_fallbacks.inc()
            return source
        if how is _From.HTTP:
            started_ns = time.perf_counter_ns()
            await prefilling.over_http()
            self.prefill_ms = ms_since(started_ns)
        source = await prefilling.get()
        if not self._identity.known:
            self._identity = source.identity
        return source

    async def _receiver(self, session: Session) -> Look:
        """What the receiver says of itself and its slot. Whether the slot is busy is for the operation to say: a slot
        that is shown as busy may take it a moment later."""
        await self.engine.connect(session, self.deadline)
        return await self.engine.look(session, self.slot, self.deadline)

    def _guard(self, look: Look) -> None:
        """StepFailed: the state is of another model than the receiver's."""
        verdict, reason = judge(self._identity, look.identity)
        self.around.metrics.engine_identity.labels(verdict).inc()
        if verdict is Verdict.ABORTED:
            raise failed(Step.IDENTITY, Outcome.OTHER_MODEL, reason=reason)

    async def _put(self, session: Session, state: Inspection, known: Known) -> Landed | None:
        started_ns = time.perf_counter_ns()
        delivered = await self._deliver(session, Op.STATE_PUT, b"", state)
        head = delivered.head
        if head.status == Status.BUSY:
            return None
        if head.status != Status.OK:
            raise failed(Step.STATE_PUT, Outcome.REFUSED, status=status_word(head.status), body=one_line(head.meta))
        try:
            restored = decode_put_meta(head.meta).restored
        except RemoteWireError as error:
            raise failed(Step.STATE_PUT, Outcome.MALFORMED, reason=str(error)) from None
        if not delivered.whole or not restored:
            reason = "it was OK before the state was there" if restored else "it was OK and nothing was restored"
            raise failed(Step.STATE_PUT, Outcome.MALFORMED, reason=reason)
        self.restore_ms = ms_since(started_ns)
        return self._landed(known, None)

    async def _decode(
        self, session: Session, state: Inspection, known: Known, look: Look, source: Source
    ) -> Landed | None:
        started_ns = time.perf_counter_ns()
        prompt = self._prompt()
        segments = segments_for(prompt, state.total, source.kv_hash)
        header = ControlHeader(
            kv_metadata={**encode_identity(self._identity), "n_past": known.n_tok},
            prompt=segments[0],
            kv=segments[1],
            model_metadata=encode_identity(look.identity),
            generation={"stream": self.request.streamed},
        )
        delivered = await self._deliver(session, Op.DECODE, encode_decode_head(header, prompt), state)
        if delivered.head.status == Status.BUSY:
            return None
        accepted = self._accepted(delivered)
        if accepted is None:
            return None
        self.stored = stored = Stored(self.engine, accepted, self.slot, self.deadline, self.around.timeouts)
        self.restore_ms = ms_since(started_ns)
        try:
            if not delivered.whole or not await self._in_step(session, delivered):
                raise failed(Step.DECODE, Outcome.MALFORMED, reason="it was OK before the state was read")
            await stored.begin(stream=self.request.streamed)
        except StepFailed:
            await stored.cancel()
            raise
        return self._landed(known, stored)

    def _prompt(self) -> bytes:
        """The client's own body: what is generated stands in it too."""
        kept = {name: value for name, value in self.request.body.items() if name not in ("model", "session_id")}
        return json.dumps({**kept, "cache_prompt": True}).encode()

    def _accepted(self, delivered: Delivered) -> int | None:
        """The number of the stored result. None: the slot is busy."""
        head = delivered.head
        word, meta = status_word(head.status), one_line(head.meta)
        if head.status == Status.NOT_IMPLEMENTED or (head.status == Status.ERROR and not head.meta):
            # A refusal of a merged DECODE says something. One that does not is of an engine that knows none.
            self.engine.cannot(Op.DECODE)
            raise failed(Step.DECODE, Outcome.NOT_SUPPORTED, status=word, body=meta)
        if head.status == Status.OK:
            try:
                answer = decode_decode_meta(head.meta)
            except RemoteWireError as error:
                self.engine.cannot(Op.DECODE)
                raise failed(Step.DECODE, Outcome.MALFORMED, reason=str(error)) from None
            if isinstance(answer, DecodeAccepted):
                return answer.request_id
        if any(reason in meta for reason in _SLOT_TAKEN):
            return None
        if any(reason in meta for reason in _OTHER_MODEL):
            raise failed(Step.DECODE, Outcome.OTHER_MODEL, status=word, body=meta)
        if CORRUPT in head.meta:
            raise failed(Step.DECODE, Outcome.CORRUPT, status=word, body=meta)
        raise failed(Step.DECODE, Outcome.REFUSED, status=word, body=meta)

    async def _in_step(self, session: Session, delivered: Delivered) -> bool:
        """Whether the engine has read the state off the connection: then another request is answered on it."""
        connection = delivered.connection
        try:
            await connection.chunk(self.around.timeouts.stream)
            connection.settled(ok=True)
            if not connection.reusable:
                return False
            await session.call(Op.STATE_META, self.slot, self.deadline.cut(self.engine.look_s))
        except DecoderError:
            return False
        return True

    async def _deliver(self, session: Session, op: Op, prefix: bytes, state: Inspection) -> Delivered:
        timeouts = self.around.timeouts
        self.lease.in_doubt = True
        delivered = await deliver(
            session, op, self.slot, prefix, state, self.deadline.cut(timeouts.restore), timeouts.stream
        )
        self.around.metrics.engine_state_bytes.inc(delivered.n_bytes)
        if delivered.whole and self._source_lease is not None:
            self._source_lease.in_doubt = False
        return delivered

    def _landed(self, known: Known, stored: Stored | None) -> Landed:
        self.lease.in_doubt = False
        return Landed(known.reach, Figures(prefill=self.prefill_ms, restore=self.restore_ms), stored)

    def _broken(self, step: Step, error: DecoderError) -> StepFailed:
        if isinstance(error, Unreachable):
            return failed(step, Outcome.NO_CONNECTION, reason=str(error))
        if isinstance(error, NoAnswer):
            return failed(step, Outcome.TIMED_OUT, reason=str(error))
        return failed(step, Outcome.CUT_OFF, reason=str(error))
