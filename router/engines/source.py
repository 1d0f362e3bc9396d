"""State out of the engine that prefills: PREFILL, the same over HTTP, and STATE_GET.

A PREFILL is never sent twice: where its answer is lost, the prompt is asked for over HTTP in the same slot, which
finds what is there already, and the state is fetched with STATE_GET.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import NoReturn

from router.config import Timeouts
from router.deadline import Deadline
from router.engines.engine import Engine
from router.engines.rpc import Connection, Session, status_word
from router.errors import CutOff, DecoderError, NoAnswer, Unreachable
from router.one_line import one_line
from router.request_body import ClientRequest
from router.routes.choose import Outcome, Step, StepFailed, failed
from wire.errors import RemoteWireError
from wire.fields import parse_object
from wire.hydra import Op, ResponseHead, Status
from wire.hydra_identity import Identity, decode_identity
from wire.hydra_meta import decode_info, decode_prefill_meta

_NOT_PREFILLED = ("max_tokens", "max_completion_tokens", "stream_options", "session_id", "model")
"""Fields that say nothing about the prompt. Without a model's name the engine keeps the one it has."""


@dataclass(slots=True)
class Source:
    """State on its way: what was said of it, and its bytes to come."""

    connection: Connection
    total: int
    identity: Identity
    silence_s: float
    kv_hash: int | None = None
    from_prefill: bool = False
    model_fallback: bool = False
    prefill_ms: float | None = None

    async def chunk(self) -> bytes:
        """The next bytes; empty at the end of a whole payload."""
        try:
            return await self.connection.chunk(self.silence_s)
        except NoAnswer:
            raise failed(Step.STATE, Outcome.TIMED_OUT, seconds=self.silence_s) from None
        except CutOff as error:
            raise failed(Step.STATE, Outcome.CUT_OFF, reason=str(error)) from None


def prefill_body(request: ClientRequest, **fields: object) -> bytes:
    """The client's chat without what is about the reply."""
    kept = {name: value for name, value in request.body.items() if name not in _NOT_PREFILLED}
    return json.dumps({**kept, "n_predict": 0, "stream": False, **fields}).encode()


@dataclass(frozen=True, slots=True)
class Prefilling:
    """One prompt in one slot of the engine that prefills."""

    engine: Engine
    session: Session
    slot: int
    request: ClientRequest
    n_tokens: int
    deadline: Deadline
    timeouts: Timeouts

    async def prefill(self) -> Source:
        """PREFILL. A slot that is busy is tried again; everything else that goes wrong is said and not repeated."""
        if not self.engine.can(Op.PREFILL):
            raise failed(Step.PREFILL, Outcome.NOT_SUPPORTED, reason="was refused a while ago")
        try:
            await self.engine.connect(self.session, self.deadline)
            source = await self.engine.patiently(self._prefill_once, self.deadline)
        except Unreachable as error:
            raise failed(Step.PREFILL, Outcome.NO_CONNECTION, reason=str(error)) from None
        except NoAnswer:
            seconds = self.deadline.cut(self.timeouts.provider)
            raise failed(Step.PREFILL, Outcome.TIMED_OUT, seconds=seconds) from None
        except CutOff as error:
            raise failed(Step.PREFILL, Outcome.CUT_OFF, reason=str(error)) from None
        if source is None:
            raise failed(Step.PREFILL, Outcome.BUSY, slot=self.slot)
        return source

    async def _prefill_once(self) -> Source | None:
        payload = prefill_body(self.request)
        started_ns = time.perf_counter_ns()
        seconds = self.deadline.cut(self.timeouts.provider)
        connection = await self.session.begin(Op.PREFILL, self.slot, len(payload), seconds)
        await connection.send(payload, seconds)
        head = await connection.head(seconds)
        if head.status != Status.OK:
            await self._refused(head)
            return None
        try:
            meta = decode_prefill_meta(head.meta)
        except RemoteWireError as error:
            raise failed(Step.PREFILL, Outcome.MALFORMED, reason=str(error)) from None
        self._not_empty(head, meta.n_past)
        took_ms = (time.perf_counter_ns() - started_ns) / 1e6
        return Source(
            connection,
            head.payload_len,
            meta.identity,
            self.timeouts.stream,
            kv_hash=meta.kv_hash,
            from_prefill=True,
            model_fallback=meta.model_fallback,
            prefill_ms=meta.prefill_ms if meta.prefill_ms is not None else took_ms,
        )

    async def _refused(self, head: ResponseHead) -> None:
        """Returns where the slot is busy, which PREFILL does not say and STATE_META does."""
        self.session.close()
        if head.status == Status.BUSY:
            return
        outcome = Outcome.NOT_SUPPORTED if head.status == Status.NOT_IMPLEMENTED else Outcome.REFUSED
        if head.status == Status.ERROR:
            look = await self.engine.look(self.session, self.slot, self.deadline, info=False)
            if look.busy:
                return
            if not await self._tells_info():
                outcome = Outcome.NOT_SUPPORTED
        if outcome is Outcome.NOT_SUPPORTED:
            self.engine.cannot(Op.PREFILL)
            raise failed(Step.PREFILL, Outcome.NOT_SUPPORTED, reason=_answered(head))
        raise failed(Step.PREFILL, Outcome.REFUSED, reason=_answered(head))

    async def _tells_info(self) -> bool:
        """An engine that knows the state operations alone answers ERROR to INFO too."""
        try:
            answer = await self.session.call(Op.INFO, 0, self.deadline.cut(self.timeouts.share))
            return answer.ok and bool(decode_info(answer.meta).capabilities)
        except (DecoderError, RemoteWireError):
            return False

    async def over_http(self) -> None:
        """The prompt evaluated, or found, in the same slot; the state is still to be fetched."""
        seconds = self.deadline.cut(self.timeouts.provider)
        body = prefill_body(self.request, id_slot=self.slot, cache_prompt=True)
        try:
            async with self.engine.http.completion(self.request.endpoint, body, seconds) as upstream:
                received = await upstream.rest(seconds)
        except Unreachable as error:
            raise failed(Step.PREFILL_HTTP, Outcome.NO_CONNECTION, reason=str(error)) from None
        except NoAnswer:
            raise failed(Step.PREFILL_HTTP, Outcome.TIMED_OUT, seconds=seconds) from None
        except CutOff as error:
            raise failed(Step.PREFILL_HTTP, Outcome.CUT_OFF, reason=str(error)) from None
        if not 200 <= upstream.status < 300:
            reason = f"answered {upstream.status}: {one_line(received)}"
            raise failed(Step.PREFILL_HTTP, Outcome.REFUSED, reason=reason)

    async def get(self) -> Source:
        """STATE_GET of what the slot holds by now."""
        try:
            await self.engine.connect(self.session, self.deadline)
            source = await self.engine.patiently(self._get_once, self.deadline)
        except Unreachable as error:
            raise failed(Step.STATE, Outcome.NO_CONNECTION, reason=str(error)) from None
        except NoAnswer:
            raise failed(Step.STATE, Outcome.TIMED_OUT, seconds=self.deadline.cut(self.timeouts.restore)) from None
        except CutOff as error:
            raise failed(Step.STATE, Outcome.CUT_OFF, reason=str(error)) from None
        if source is None:
            raise failed(Step.STATE, Outcome.BUSY, slot=self.slot)
        return source

    async def _get_once(self) -> Source | None:
        seconds = self.deadline.cut(self.timeouts.restore)
        connection = await self.session.begin(Op.STATE_GET, self.slot, 0, seconds)
        head = await connection.head(seconds)
        if head.status != Status.OK:
            # Its error text may follow unframed: nothing else is read from this connection.
            self.session.close()
            if head.status == Status.BUSY:
                return None
            raise failed(Step.STATE, Outcome.REFUSED, reason=_answered(head))
        self._not_empty(head, self.n_tokens)
        return Source(connection, head.payload_len, _identity(head), self.timeouts.stream)

    def _not_empty(self, head: ResponseHead, n_past: int) -> None:
        if head.payload_len == 0 or n_past == 0:
            self._no_state()

    def _no_state(self) -> NoReturn:
        raise failed(Step.STATE, Outcome.EMPTY, asked=self.n_tokens)


def _answered(head: ResponseHead) -> str:
    meta = one_line(head.meta)
    return f"answered {status_word(head.status)}" + (f": {meta}" if meta else "")


def _identity(head: ResponseHead) -> Identity:
    try:
        return decode_identity(parse_object(head.meta, "the meta of STATE_GET"))
    except RemoteWireError:
        return Identity()


def is_source_failure(failure: StepFailed) -> bool:
    """Whether it is the prefilling engine's side that failed."""
    return failure.step in (Step.PREFILL, Step.PREFILL_HTTP, Step.STATE)
