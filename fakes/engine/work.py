"""Evaluating and decoding on a slot of the toy engine, as generators that yield what they wait for.

Everything that is told to a client about a reply (`cached`, `evaluated`) comes from here and from nowhere else: it
is what was really kept and really evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from fakes.effects import Await, Pause, Signal
from fakes.engine.blobs import BlobForm
from fakes.engine.checkpoints import Resume, find_resume
from fakes.engine.kv_stream import KvShape
from fakes.engine.logits import greedy_of
from fakes.engine.prompt_match import PromptMatch, match_prompt
from fakes.engine.slot import EngineSlot
from fakes.engine.snapshot_data import load_snapshot, take_snapshot
from fakes.tokenizer import EOS_ID

T = TypeVar("T")
Work = Generator[Await | Pause, None, T]


class SlotPoisoned(Exception):
    """Tokens without memory behind them: a real engine aborts its process here."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens a second, None for instant."""

    prefill_tps: float | None
    decode_tps: float | None


@dataclass(slots=True)
class Reply:
    """What was decoded, and what it cost. `cached` tokens were kept, `evaluated` were not."""

    prompt: tuple[int, ...]
    match: PromptMatch
    resume: Resume
    predicted: list[int] = field(default_factory=list)
    stop: str = "limit"
    prompt_s: float = 0.0

    @property
    def cached(self) -> int:
        return self.resume.n_past

    @property
    def evaluated(self) -> int:
        return len(self.prompt) - self.resume.n_past


def pause(tokens: int, tps: float | None) -> Work[None]:
    """The time that so many tokens take."""
    yield Pause(0.0 if tps is None else tokens / tps)


def prefill(slot: EngineSlot, tokens: Sequence[int], form: BlobForm, speed: Speed) -> Work[None]:
    """Empties the slot and evaluates the prompt, with a checkpoint before its last token where one is sent along."""
    slot.wipe()
    yield from pause(len(tokens), speed.prefill_tps)
    recurrent_only = form.recurrent_only(slot.memory.hybrid)
    slot.memory.evaluate(tokens[:-1])
    if len(tokens) > 1 and recurrent_only is not None:
        slot.snapshots = (take_snapshot(slot.memory, recurrent_only=recurrent_only),)
    slot.memory.evaluate(tokens[-1:])
    slot.tokens = list(tokens)


def start_reply(
    slot: EngineSlot, prompt: Sequence[int], shape: KvShape, speed: Speed, *, cache_prompt: bool
) -> Work[Reply]:
    """Matches the prompt with what the slot knows, cuts the memory to it, and evaluates the rest of the prompt."""
    if slot.poisoned:
        raise SlotPoisoned(f"slot {slot.id} knows {len(slot.tokens)} tokens and has no memory of them")
    frozen_s, slot.frozen_s = slot.frozen_s, 0.0
    yield Pause(frozen_s)
    logits = slot.restored_logits
    match = match_prompt(slot.tokens, prompt, restored_logits=logits is not None, cache_prompt=cache_prompt)
    resume = find_resume(
        match.n_past,
        slot.snapshots,
        recurrent=slot.memory.hybrid,
        memory_end=slot.memory.absorbed,
        just_restored=slot.just_restored,
    )
    slot.just_restored, slot.restored_logits = False, None
    slot.snapshots = resume.kept
    if resume.snapshot is not None:
        load_snapshot(slot.memory, resume.snapshot, shape)
    slot.memory.cut(resume.n_past)
    slot.n_cached, slot.n_decoded = resume.n_past, 0
    slot.tokens = list(prompt[: resume.n_past])
    reply = Reply(tuple(prompt), match, resume)
    yield from pause(reply.evaluated, speed.prefill_tps)
    _evaluate_rest(slot, prompt)
    if match.logits_reused and logits is not None and resume.n_past == match.n_past:
        reply.predicted.append(greedy_of(logits))
    return reply


def _evaluate_rest(slot: EngineSlot, prompt: Sequence[int]) -> None:
    start = len(slot.tokens)
    slot.memory.evaluate(prompt[start:-1])
    if slot.memory.hybrid and len(prompt) > 1:
        slot.snapshots = (*slot.snapshots, take_snapshot(slot.memory, recurrent_only=True))[-4:]
    slot.memory.evaluate(prompt[-1:])
    slot.tokens = list(prompt)


def decode(
    slot: EngineSlot,
    reply: Reply,
    n_predict: int,
    speed: Speed,
    on_token: Callable[[int], Work[None]],
    *,
    ignore_eos: bool = False,
) -> Work[None]:
    """Decodes until the end of text, `n_predict` tokens (below 0: no limit) or the end of the context."""
    room = slot.n_ctx - len(slot.memory.cells)
    most = room if n_predict < 0 else min(n_predict, room)
    first = reply.predicted[:]
    reply.predicted.clear()
    for left in range(most, 0, -1):
        yield from pause(1, speed.decode_tps)
        token = first.pop() if first else slot.memory.next_token(ignore_eos=ignore_eos)
        reply.predicted.append(token)
        slot.n_decoded, slot.n_remain = slot.n_decoded + 1, left - 1
        yield from on_token(token)
        if token == EOS_ID and not ignore_eos:
            reply.stop = "eos"
            return
        if left > 1:
            slot.memory.evaluate([token])
            slot.tokens.append(token)


def until_free(slot: EngineSlot, freed: Callable[[], Signal]) -> Work[None]:
    """Waits for a slot that somebody else works on; `freed` gives the signal of the next slot that is let go."""
    while not slot.free:
        yield Await(freed())
