"""One request from its body to its reply: which route, which slot, what follows when a step fails.

The slot is leased before the first handoff step and given back when the reply has ended, through the janitor where
its content is in doubt or an abandoned reply may still run in it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.web_request import BaseRequest

from router.config import Config
from router.deadline import Deadline
from router.decoder_client import Upstream
from router.decoders import Decoder, Decoders, no_decoder
from router.errors import CutOff, DecoderError, DecoderGone, NoAnswer, Refusal, Unreachable
from router.exchange import Ending, Exchange, Route
from router.janitor import Eraser, Janitor
from router.leases import RETRY_AFTER_S, Lease, Leases
from router.metrics import Metrics
from router.one_line import one_line
from router.plans import Handed, HandOver, Plain, Planner, where
from router.proof import Timings, Use, prove
from router.providers.provider import Shapes
from router.relay import relay
from router.request_body import ClientRequest
from router.routes import plain, shared, state_file
from router.routes.choose import NOT_THE_DECODERS, Next, Outcome, Policy, Step, StepFailed, failed, line, what_follows
from router.routes.handoff import Handoff, Surroundings, refused
from router.slots import Prompt

if TYPE_CHECKING:
    from router.engines.results import Stored
    from router.routes.engine import EngineSurroundings

AFTER_PREFILL = (Step.CLAIM, Step.INSPECT, Step.ADOPT, Step.RESTORE)
"""When one of these fails, the provider has done its work."""


@dataclass(slots=True)
class Seat:
    """Where a request is served."""

    lease: Lease
    decoder: Decoder
    stored: Stored | None = None
    """An engine's own work for the request, which ends before the slot is anybody's."""

    @property
    def eraser(self) -> Eraser:
        return self.stored or self.decoder.engine or self.decoder.client


class Dispatcher:
    """Serves the requests that reach a model."""

    def __init__(
        self,
        config: Config,
        decoders: Decoders,
        leases: Leases,
        janitor: Janitor,
        metrics: Metrics,
        around: Surroundings | None,
        engines: EngineSurroundings | None = None,
    ) -> None:
        self._config = config
        self._decoders = decoders
        self._leases = leases
        self._janitor = janitor
        self._metrics = metrics
        self._around = around
        self._engines = engines
        has_provider = around is not None or engines is not None
        self._planner = Planner(config, has_provider=has_provider, chats_only=engines is not None)
        has_state_file = around is not None and around.state_files is not None
        self._policy = Policy(has_state_file=has_state_file, strict=config.strict)

    async def serve(self, request: ClientRequest, client: BaseRequest, exchange: Exchange) -> web.StreamResponse:
        """The reply, sent. Refusal: the router answers itself. DecoderError: no answer had begun."""
        gone: DecoderGone | None = None
        for _ in range(len(self._decoders)):
            decoders = self._decoders.ready()
            if not decoders:
                break
            try:
                return await self._serve_once(request, client, exchange, decoders)
            except DecoderGone as error:
                gone = error
                if exchange.n_handed:
                    # Its prefill is paid and lost. To pay again in silence is not ours to decide.
                    break
        raise gone or no_decoder()

    async def _serve_once(
        self, request: ClientRequest, client: BaseRequest, exchange: Exchange, decoders: list[Decoder]
    ) -> web.StreamResponse:
        try:
            plan: HandOver | Plain | Handed = await self._planner.plan(request, exchange, decoders)
        except StepFailed as failure:
            self._follow(failure, exchange, decoders[0])
            plan = Plain(failure.reason, self._planner.text(request), fell_back=True)
        seat = await self._seat(plan, exchange, decoders)
        try:
            if isinstance(plan, HandOver):
                plan = self._planner.here(plan, exchange, seat.lease.slot, seat.decoder)
            if isinstance(plan, HandOver):
                if self._engines is not None:
                    plan = await self._over_engines(plan, request, seat, exchange, self._engines)
                else:
                    plan = await self._hand_over(plan, seat, exchange)
            if not seat.lease.held:
                seat = await self._seat(plan, exchange, self._decoders.ready())
            return await self._forward(plan, request, client, seat, exchange)
        finally:
            # Whatever did not settle the slot's content by now has left it in doubt or as it was.
            self._give_back(seat, None)

    async def _seat(self, plan: HandOver | Handed | Plain, exchange: Exchange, decoders: list[Decoder]) -> Seat:
        """A slot leased for the request."""
        lease = await self._leases.acquire(plan.prompt, exchange.deadline, where(plan, decoders))
        seat = Seat(lease, self._decoders[lease.slot.decoder])
        exchange.decoder, exchange.slot = seat.decoder.client.url, lease.slot.id
        return seat

    async def _hand_over(self, plan: HandOver, seat: Seat, exchange: Exchange) -> Handed | Plain:
        """Tries the routes in the order that the decision table gives them."""
        assert self._around is not None
        route, reason = (Route.SHARED if self._config.kv_share else Route.STATE_FILE), "handed-over"
        while True:
            exchange.route, exchange.reason = route, reason
            failure = await self._attempt(route, plan, seat, exchange)
            if failure is None:
                exchange.n_handed = len(plan.handed)
                self._metrics.tokens_handed.inc(len(plan.handed))
                return Handed(plan.prompt, len(plan.tokens), len(plan.handed))
            next_ = self._follow(failure, exchange, seat.decoder)
            is_clean = not seat.lease.in_doubt or await self._erase(seat, exchange)
            if next_ is not Next.STATE_FILE or not is_clean:
                n_paid = len(plan.handed) if failure.step in AFTER_PREFILL else 0
                return Plain(failure.reason, plan.prompt, fell_back=True, n_prompt=len(plan.tokens), n_paid=n_paid)
            route, reason = Route.STATE_FILE, failure.reason

    async def _over_engines(
        self, plan: HandOver, request: ClientRequest, seat: Seat, exchange: Exchange, around: EngineSurroundings
    ) -> Handed | Plain:
        """Prefilled by one engine, decoded by the one that the slot is of."""
        exchange.route, exchange.reason = Route.ENGINE, "handed-over"
        facts, engine = seat.decoder.facts, seat.decoder.engine
        assert engine is not None
        handoff = around.handoff(
            request, plan.handed, seat.lease, engine, facts, exchange.deadline, exchange.request_id
        )
        try:
            landed = await handoff.run(
                lambda failure, again: self._follow(failure, exchange, seat.decoder, again=again)
            )
        finally:
            seat.stored = handoff.stored
        if isinstance(landed, StepFailed):
            if seat.lease.in_doubt and not await self._emptied(seat, exchange):
                # Nobody's until it is idle. The request goes on in another one.
                self._janitor.clean(seat.lease, seat.eraser)
            return Plain(landed.reason, plan.prompt, fell_back=True, n_prompt=len(plan.tokens))
        exchange.n_handed, exchange.handoff = landed.reach, landed.figures
        self._metrics.tokens_handed.inc(landed.reach)
        return Handed(plan.prompt, len(plan.tokens), landed.reach, landed.stored)

    async def _emptied(self, seat: Seat, exchange: Exchange) -> bool:
        """Whether the engine's slot is known to be idle and empty."""
        try:
            answer = await seat.eraser.erase(seat.lease.slot.id, exchange.deadline.cut(self._config.timeouts.share))
            reason = "" if answer.ok else f"{answer.status}: {one_line(answer.body)}"
        except Unreachable as error:
            words = f"the decoder cannot be reached: {error}"
            self._decoders.unreachable(seat.decoder, words)
            raise DecoderGone(503, "unavailable_error", words, RETRY_AFTER_S) from None
        except DecoderError as error:
            reason = str(error)
        if reason:
            self._follow(
                failed(Step.ERASE, Outcome.BUSY, slot=seat.lease.slot.id, reason=reason), exchange, seat.decoder
            )
            return False
        seat.lease.settled()
        return True

    async def _attempt(self, route: Route, plan: HandOver, seat: Seat, exchange: Exchange) -> StepFailed | None:
        """One route, with everything it used undone by the time this returns. None: the rows are in the slot."""
        assert self._around is not None
        facts = seat.decoder.facts
        shapes = Shapes(facts.model, facts.n_streams) if facts is not None else Shapes()
        async with AsyncExitStack() as left:
            handoff = Handoff(
                plan.handed,
                seat.decoder.client,
                seat.lease,
                shapes,
                self._around,
                exchange.deadline,
                left,
                seat.decoder.own_state,
            )
            try:
                await seat.decoder.while_in_service(
                    (shared if route is Route.SHARED else state_file).hand_over(handoff)
                )
            except StepFailed as failure:
                return failure
        exchange.handoff = handoff.figures()
        return None

    def _follow(self, failure: StepFailed, exchange: Exchange, decoder: Decoder, *, again: bool = True) -> Next:
        """Says what failed and what is done instead. Refusal: the request ends here."""
        next_ = what_follows(failure, self._policy if again else replace(self._policy, again=False))
        exchange.log.hybrid(line(failure, next_))
        self._metrics.failures.labels(failure.step, failure.outcome).inc()
        exchange.reason = failure.reason
        if next_ is Next.UNAVAILABLE:
            self._decoders.unreachable(decoder, failure.words)
            raise DecoderGone(503, "unavailable_error", failure.words, RETRY_AFTER_S)
        if failure.outcome in (Outcome.TIMED_OUT, Outcome.CUT_OFF) and failure.step not in NOT_THE_DECODERS:
            decoder.suspect(failure.words)
        if next_ is Next.REFUSE:
            raise Refusal(502, "server_error", f"{failure.words} (--strict)")
        return next_

    async def _erase(self, seat: Seat, exchange: Exchange) -> bool:
        """Whether the slot is known to be empty. Its provider has ended by now."""
        seconds = exchange.deadline.cut(self._config.timeouts.share)
        try:
            answer = await seat.decoder.client.erase(seat.lease.slot.id, seconds)
        except Unreachable as error:
            failure = failed(Step.ERASE, Outcome.UNREACHABLE, reason=str(error))
        except NoAnswer:
            failure = failed(Step.ERASE, Outcome.TIMED_OUT, seconds=seconds)
        except CutOff as error:
            failure = failed(Step.ERASE, Outcome.CUT_OFF, reason=str(error))
        else:
            if answer.ok:
                seat.lease.settled()
                return True
            failure = refused(Step.ERASE, answer)
        self._follow(failure, exchange, seat.decoder)
        return False

    async def _forward(
        self, plan: Handed | Plain, request: ClientRequest, client: BaseRequest, seat: Seat, exchange: Exchange
    ) -> web.StreamResponse:
        """The client's own body on its own endpoint, pinned; the reply relayed."""
        if isinstance(plan, Plain):
            exchange.route, exchange.reason = Route.PLAIN, plan.reason
        slot, timeouts = seat.lease.slot.id, self._config.timeouts
        fields = plain.fields_for(
            slot,
            in_doubt=seat.lease.in_doubt,
            fell_back=isinstance(plan, Plain) and plan.fell_back,
            cache_prompt=request.body.get("cache_prompt"),
        )
        first_byte = Deadline(exchange.deadline.cut(timeouts.first_byte))
        ended = False
        try:
            body = request.with_fields(fields)
            async with self._upstream(plan, request, body, seat, first_byte) as upstream:
                response = await relay(
                    upstream,
                    client,
                    exchange,
                    first_byte,
                    timeouts,
                    lambda timings: self._judge(plan, timings, exchange),
                    strict=self._config.strict,
                )
                ended = exchange.ending_to_be is not Ending.BROKEN
            if exchange.broken_off:
                seat.decoder.suspect(exchange.broken_off)
            return response
        except Unreachable as error:
            ended = True
            words = f"the decoder cannot be reached: {error}"
            self._decoders.unreachable(seat.decoder, words)
            raise DecoderGone(503, "unavailable_error", words, RETRY_AFTER_S) from None
        except (NoAnswer, CutOff) as error:
            seat.decoder.suspect(str(error))
            raise
        finally:
            # A stream stops at the decoder's next token; an abandoned reply that is not streamed may run on.
            if isinstance(plan, Handed) and plan.stored is not None:
                plan.stored.ended = plan.stored.ended or ended
                seat.lease.in_doubt = not ended
            if ended or request.streamed:
                self._give_back(seat, plan.prompt if exchange.first_byte_ms is not None else None)
            elif seat.lease.held:
                self._janitor.clean(seat.lease, seat.eraser)

    @asynccontextmanager
    async def _upstream(
        self, plan: Handed | Plain, request: ClientRequest, body: bytes, seat: Seat, first_byte: Deadline
    ) -> AsyncIterator[Upstream]:
        """The reply to the client's own body, or the one that a DECODE has begun already."""
        if isinstance(plan, Handed) and plan.stored is not None:
            try:
                yield plan.stored.reply
            finally:
                await plan.stored.close()
            return
        async with seat.decoder.client.completion(request.endpoint, body, first_byte.left()) as upstream:
            yield self._engines.reply(upstream) if self._engines is not None else upstream

    def _judge(self, plan: Handed | Plain, timings: Timings | None, exchange: Exchange) -> Use | None:
        """What the decoder's counters say; named, and counted."""
        if isinstance(plan, Plain):
            findings = plain.findings(plan, timings)
            # A reply whose counters cannot be right is marked, whoever prefilled.
            use = Use.UNKNOWN if any(finding.outcome is Outcome.MISCOUNTED for finding in findings) else None
            exchange.n_again = min(plan.n_paid, timings.evaluated) if timings is not None else plan.n_paid
        else:
            proof = prove(timings, plan.n_prompt, plan.n_handed)
            findings, use = proof.findings, proof.use
            if use in (Use.USED, Use.PARTIAL) and exchange.route is not Route.ENGINE and not self._config.cache_is_off:
                use = Use.UNVERIFIED
            self._metrics.handoffs.labels(exchange.route, use).inc()
            exchange.n_again = proof.tokens_again
        self._metrics.tokens_again.inc(exchange.n_again)
        for finding in findings:
            exchange.log.hybrid(line(finding, Next.REPLY))
            self._metrics.failures.labels(finding.step, finding.outcome).inc()
        return use

    def _give_back(self, seat: Seat, holds: Prompt | None) -> None:
        if not seat.lease.held:
            return
        if seat.lease.in_doubt:
            self._janitor.clean(seat.lease, seat.eraser)
        else:
            seat.lease.release(holds)
