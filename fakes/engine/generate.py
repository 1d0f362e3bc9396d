"""One reply on one slot, from its prompt to its end, journalled: what HTTP completions and DECODE have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fakes.engine.engine import Engine, ProcessEnds
from fakes.engine.requests import Wanted
from fakes.engine.slot import EngineSlot
from fakes.engine.steps import Death, TokenStep
from fakes.engine.work import Reply, SlotPoisoned, Work, decode, start_reply
from fakes.point import Point


@dataclass(slots=True)
class Served:
    """A reply with its times, in seconds of the engine's clock. `first_at` None: no token came."""

    reply: Reply
    started_at: float
    prompt_done_at: float
    first_at: float | None = None
    ended_at: float = 0.0

    @property
    def prompt_s(self) -> float:
        return self.prompt_done_at - self.started_at

    @property
    def predicted_s(self) -> float:
        return self.ended_at - self.prompt_done_at


def generate(
    engine: Engine,
    slot: EngineSlot,
    wanted: Wanted,
    via: str,
    asked_slot: int | None,
    on_token: Callable[[int], Work[None]],
    *,
    request_id: int | None = None,
) -> Work[Served]:
    """The slot is the caller's already and is let go here, whatever happens. `on_token` sends it somewhere."""
    started = engine.now()
    served: Served | None = None
    slot.working = "decode"

    def token_out(token: int) -> Work[None]:
        assert served is not None
        if served.first_at is None:
            served.first_at = engine.now()
        step = engine.at(Point.ENGINE_TOKEN, TokenStep(via, slot.id, len(served.reply.predicted)))
        if step.death is not Death.NO:
            raise ProcessEnds(step.death, f"while decoding, at token {step.n}")
        yield from engine.reach(Point.ENGINE_TOKEN)
        yield from on_token(token)

    cancelled = True
    try:
        reply = yield from start_reply(
            slot, wanted.tokens, engine.shape(slot), engine.speed, cache_prompt=wanted.cache_prompt
        )
        served = Served(reply, started, engine.now())
        engine.counters.count_prompt(reply.evaluated, reply.cached, served.prompt_s)
        _journal_match(engine, slot, reply)
        yield from decode(slot, reply, wanted.n_predict, engine.speed, token_out, ignore_eos=wanted.ignore_eos)
        cancelled = False
    except SlotPoisoned as poisoned:
        raise ProcessEnds(Death.EXIT, str(poisoned)) from None
    finally:
        engine.let_go(slot)
        if served is not None:
            served.ended_at = engine.now()
            n_predicted = len(served.reply.predicted)
            engine.counters.count_predicted(n_predicted, served.predicted_s, len(served.reply.prompt) + n_predicted)
        _journal_completion(engine, slot, wanted, via, asked_slot, served, cancelled, request_id)
    return served


def _journal_match(engine: Engine, slot: EngineSlot, reply: Reply) -> None:
    match = reply.match
    engine.journal.write(
        "prompt_match",
        slot=slot.id,
        row=int(match.row),
        n_slot=match.n_slot,
        n_new=match.n_new,
        n_common=match.n_common,
        n_past=reply.resume.n_past,
        logits_reused=match.logits_reused,
        why=reply.resume.why.value,
        kv_removed_from=reply.resume.n_past,
    )


def _journal_completion(
    engine: Engine,
    slot: EngineSlot,
    wanted: Wanted,
    via: str,
    asked_slot: int | None,
    served: Served | None,
    cancelled: bool,
    request_id: int | None,
) -> None:
    reply = None if served is None else served.reply
    engine.journal.write(
        "completion",
        endpoint=via,
        stream=wanted.stream,
        id_slot=asked_slot,
        served_slot=slot.id,
        cache_prompt=wanted.cache_prompt,
        prompt_tokens=list(wanted.tokens),
        n_prompt=len(wanted.tokens),
        cache_n=None if reply is None else reply.cached,
        prompt_n=None if reply is None else reply.evaluated,
        predicted_n=0 if reply is None else len(reply.predicted),
        predicted=[] if reply is None else reply.predicted,
        stop_type=None if reply is None else reply.stop,
        status=200,
        cancelled=cancelled,
        t_first_ms=None
        if served is None or served.first_at is None
        else round(1000 * (served.first_at - served.started_at), 3),
        decode_request_id=request_id,
    )
