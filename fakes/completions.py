"""A completion from its body to its reply: the three endpoints, streamed or not, one or several prompts.

Several prompts, or several choices, are worked on at the same time, as far as there are slots.
"""

from __future__ import annotations

from collections.abc import Generator
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

from fakes.api_error import ApiError
from fakes.body import Body, integer, number, parse_body, type_name
from fakes.deciding import carry_out
from fakes.effects import END_STREAM, ClientGone, Effect, Flow, Pause, Reply, StartStream, Write
from fakes.generation import Generation, Shift, Stop
from fakes.http1 import Request
from fakes.log import Level
from fakes.machine import Machine
from fakes.params import Params, body_slot, read_params, read_prompt
from fakes.point import Point
from fakes.prompts import Prompt, read_prompts, render_chat
from fakes.replies import ChatForm, Form, Names, NativeForm, Outcome, TextForm, to_json
from fakes.sampling import Sampler
from fakes.scheduler import Task
from fakes.side_by_side import side_by_side
from fakes.slots import Slot, common_prefix, wrapped
from fakes.steps import Counted, Decision, Evaluation, Go
from fakes.text_out import TextOut
from fakes.timings import Timings
from fakes.tokenizer import EOS_ID
from fakes.wishes import of_chat, of_text

TOKENS_AT_ONCE = 16
"""Without `--decode-tps`: so many tokens are made, and so many frames written, in one go."""
BREATH = 64
"""After so many tokens others have their turn."""


def native(machine: Machine, request: Request) -> Flow:
    """POST /completion."""
    body = parse_body(request.body)
    params = read_params(body, machine.options, machine.model.tokenizer)
    prompts = read_prompts(read_prompt(body), machine.model.tokenizer)
    return (yield from _Completion(machine, request, params, NativeForm(_names(machine), params)).answer(prompts))


def text(machine: Machine, request: Request) -> Flow:
    """POST /v1/completions."""
    body = of_text(parse_body(request.body))
    params = read_params(body, machine.options, machine.model.tokenizer)
    prompts = read_prompts(read_prompt(body), machine.model.tokenizer)
    choices = _choices(body, machine)
    run = _Completion(machine, request, params, TextForm(_names(machine), params))
    run.has_choices = choices > 1
    return (yield from run.answer(prompts * choices))


def chat(machine: Machine, request: Request) -> Flow:
    """POST /v1/chat/completions."""
    body = of_chat(parse_body(request.body))
    params = read_params(body, machine.options, machine.model.tokenizer)
    prompt, begun = chat_prompt(machine, body)
    prompts = [prompt] * _choices(body, machine)
    return (yield from _Completion(machine, request, params, ChatForm(_names(machine), params, begun)).answer(prompts))


def chat_prompt(machine: Machine, body: Body) -> tuple[Prompt, str]:
    """A chat body's prompt, and what it already says of the answer."""
    rendered, begun = render_chat(body)
    return Prompt(rendered, machine.model.tokenizer.encode(rendered, add_special=True)), begun


def _names(machine: Machine) -> Names:
    return Names(machine.name, machine.build_info, f"chatcmpl-{machine.new_name()}", int(machine.wall_s()))


def _choices(body: Body, machine: Machine) -> int:
    return integer(body, "n", 1, 1, machine.shape.n_slots)


def _flat(value: object) -> object:
    """What a journal can hold, however deep a body is nested."""
    return type_name(value) if isinstance(value, list | dict) else value


@dataclass(slots=True)
class _Entry:
    """What the journal will say of one prompt of a completion."""

    served_slot: int | None = None
    status: int = 200
    cancelled: bool = False


class _Completion:
    """One request on its way. A stream is started with its first prompt."""

    def __init__(self, machine: Machine, request: Request, params: Params, form: Form) -> None:
        self.machine = machine
        self.request = request
        self.params = params
        self.form = form
        self.streaming = False
        self.is_one = True
        """Whether it has one prompt alone."""
        self.has_choices = False
        """Whether its prompts are one prompt, several times."""

    def answer(self, prompts: list[Prompt]) -> Flow:
        if len(prompts) == 1:
            outcomes = [(yield from self._one(prompts[0], 0))]
        else:
            self.is_one = False
            runs = [self._one(prompt, index) for index, prompt in enumerate(prompts)]
            outcomes = yield from side_by_side(runs, lambda: self.machine.clock_ns() / 1e9)
        if not self.params.stream:
            return Reply(200, to_json(self.form.whole(outcomes)))
        yield Write(list(self.form.done))
        return END_STREAM

    def _one(self, prompt: Prompt, index: int) -> Generator[Effect, Any, Outcome]:
        machine = self.machine
        wanted = body_slot(self.params.body)
        want = None if wanted is None else wrapped(wanted, machine.shape.n_slots)
        task = Task(machine.task_id(), want, prompt.tokens)
        run = _Run(self, prompt, index, task)
        try:
            yield from machine.occupy(task, self.request)
            try:
                if not self.is_one:
                    yield Pause(0)  # all are in the queue before one is looked at
                return (yield from run.steps())
            finally:
                machine.leave(task)
        except ClientGone:
            run.cancelled()
            raise
        except ApiError as error:
            run.failed(error)
            raise
        finally:
            run.record()


class _Run:
    """One prompt on its slot."""

    def __init__(self, completion: _Completion, prompt: Prompt, index: int, task: Task) -> None:
        self.completion = completion
        self.machine = completion.machine
        self.params = completion.params
        self.form = copy(completion.form)
        self.form.index = index
        self.prompt = prompt
        self.index = index
        self.task = task
        self.timings = Timings()
        self.entry = _Entry()
        self.predicted: list[int] = []
        self.stop = Stop.NONE
        self.frames: list[bytes] = []
        wish, model = self.params.wish, self.machine.model
        self.sampler = None if wish.is_plain else Sampler(model, wish, ignore_eos=self.params.ignore_eos)

    def steps(self) -> Generator[Effect, Any, Outcome]:
        machine, slot, prompt = self.machine, self.task.slot, self.prompt
        assert slot is not None
        self.entry.served_slot = slot.id
        slot.params = self.params
        slot.n_prompt_cached = slot.n_prompt_processed = slot.n_decoded = 0
        slot.n_remain = self.params.n_predict
        self._check_context(slot)
        if self.params.stream:
            yield from self._begin_stream()
        if not self.completion.is_one:
            yield Pause(0)  # all say that they have begun before one says more
        decision: Decision = yield from machine.passes(Point.STARTED, Go(), self.completion.request, slot.id)
        if not isinstance(decision, Go):
            yield from carry_out(decision, machine.meet)
        self.timings.start_ns = machine.clock_ns()
        text, truncated = TextOut(self.params.stop), False
        content = ""
        if prompt.tokens and not machine.poisoned:
            generation = yield from self._evaluate(slot)
            content = yield from self._generate(slot, generation, text)
            truncated = generation.truncated
        self.timings.end_ns = machine.clock_ns()
        yield from machine.reach(Point.REPLY, self.completion.request, slot.id)
        counted = yield from machine.passes(
            Point.COUNTED, Counted(self.timings.cache_n, self.timings.prompt_n), self.completion.request, slot.id
        )
        outcome = self._outcome(slot, content, text.stopped_by, truncated)
        outcome.timings |= {"cache_n": counted.cache_n, "prompt_n": counted.prompt_n}
        self._finished(slot, truncated)
        if self.params.stream:
            yield Write([*self.frames, *self.form.last(outcome)])
        return outcome

    def _begin_stream(self) -> Generator[Effect, Any, None]:
        if not self.completion.streaming:
            self.completion.streaming = True
            yield StartStream(self.params.ping_s)
        elif not self.completion.has_choices and not self.params.return_progress and (events := self.form.joins()):
            yield Write(events)

    def _check_context(self, slot: Slot) -> None:
        n_prompt = len(self.prompt.tokens)
        if n_prompt >= slot.n_ctx:
            message = (
                f"request ({n_prompt} tokens) exceeds the available context size ({slot.n_ctx} tokens),"
                " try increasing it"
            )
            more = {"n_prompt_tokens": n_prompt, "n_ctx": slot.n_ctx}
            raise ApiError(400, message, kind="exceed_context_size_error", more=more)

    def _begin(self, slot: Slot) -> Generator[Effect, Any, Generation]:
        """The generation, which reuses what the slot holds, unless a fault has it otherwise."""
        machine, params, prompt = self.machine, self.params, self.prompt.tokens
        made = partial(
            Generation, machine.model, machine.store, slot, ignore_eos=params.ignore_eos, sampler=self.sampler
        )
        if machine.player.idle:
            return made(prompt, reuse=params.cache_prompt)
        held = common_prefix(slot.tokens, prompt) if params.cache_prompt else 0
        step = yield from machine.passes(
            Point.EVALUATE,
            Evaluation(held, len(prompt), self.task.want is not None, machine.previous is not None),
            self.completion.request,
            slot.id,
        )
        if step.of_previous and machine.previous is not None:
            prompt = machine.previous
        machine.previous = self.prompt.tokens
        if not step.attends:
            prompt = prompt[min(step.held, len(prompt) - 1) :]
        generation = made(prompt, reuse=params.cache_prompt and step.reuses and step.attends)
        generation.overrun = step.overrun
        if step.spares_last:
            generation.spare_last()
        return generation

    def _shift(self, slot: Slot) -> Shift | None:
        """What becomes of a full slot where `--context-shift` is on."""
        if not self.machine.options.context_shift:
            return None

        def told(n_keep: int, n_left: int, n_discard: int) -> None:
            text = f"slot context shift, n_keep = {n_keep}, n_left = {n_left}, n_discard = {n_discard}"
            self.machine.log.slot(Level.WARN, "operator()", slot.id, self.task.id, text)

        keep = self.params.kept_of(len(self.prompt.tokens), self.machine.spec.bos == 1)
        return Shift(keep, int(number(self.params.body, "n_discard", 0)), told)

    def _evaluate(self, slot: Slot) -> Generator[Effect, Any, Generation]:
        machine, params = self.machine, self.params
        generation = yield from self._begin(slot)
        generation.shift = self._shift(slot)
        self.timings.cache_n = slot.n_prompt_cached = generation.cached
        if generation.whole_prompt_held:
            self._warn_whole(slot, len(self.prompt.tokens))
        while True:
            slot.n_prompt_processed = self.timings.prompt_n = generation.evaluated
            if params.stream and params.return_progress:
                timings = self.timings.so_far(machine.clock_ns()) if params.timings_per_token else None
                yield Write([self.form.progress(self._progress(generation), len(self.prompt.tokens), timings)])
            if not generation.prompt_left:
                return generation
            batch = min(generation.prompt_left, machine.options.batch_size or 1)
            if machine.options.prefill_tps:
                yield Pause(machine.seconds(batch, machine.options.prefill_tps))
            elif generation.evaluated:
                yield Pause(0)
            generation.evaluate(batch)
            machine.counters.n_decode += 1

    def _progress(self, generation: Generation) -> dict[str, Any]:
        processed = generation.cached + generation.evaluated
        passed = (self.machine.clock_ns() - self.timings.start_ns) // 1_000_000
        total = len(self.prompt.tokens)
        return {"total": total, "cache": generation.cached, "processed": processed, "time_ms": passed}

    def _generate(self, slot: Slot, generation: Generation, text: TextOut) -> Generator[Effect, Any, str]:
        machine, params = self.machine, self.params
        self.predicted = generation.predicted
        self.timings.first_ns = machine.clock_ns()
        rate = machine.options.decode_tps
        at_once = 1 if rate or params.stop or params.timings_per_token else TOKENS_AT_ONCE
        parts: list[str] = []
        while True:
            tokens = generation.take(1 if machine.holds.is_held(Point.TOKEN) else at_once, params.n_predict)
            self.stop = generation.stop
            self.timings.predicted_n = slot.n_decoded = len(self.predicted)
            slot.n_remain = max(-1, params.n_predict - slot.n_decoded)
            parts += self._parts(tokens, text)
            if machine.holds.is_held(Point.TOKEN):
                yield from self._flush()
                yield from machine.reach(Point.TOKEN, self.completion.request, slot.id)
            if self.stop is not Stop.NONE:
                return "".join(parts)
            yield from self._flush()
            if rate or len(self.predicted) % BREATH == 0:
                yield Pause(machine.seconds(1, rate))

    def _parts(self, tokens: list[int], text: TextOut) -> list[str]:
        """The text of these tokens, as it may go out; for a stream as frames too."""
        tokenizer = self.machine.model.tokenizer
        if not self.params.stream and not self.params.stop:
            ended = self.stop is not Stop.NONE
            shown = tokens[:-1] if self.stop is Stop.EOS else tokens
            return [text.feed(tokenizer.decode(shown)) + (text.end() if ended else "")]
        parts: list[str] = []
        first = len(self.predicted) - len(tokens) + 1
        for count, token in enumerate(tokens, first):
            part = "" if token == EOS_ID else text.feed(tokenizer.piece(token))
            if text.stopped_by:
                self.stop = Stop.WORD
            if self.stop is not Stop.NONE and count == len(self.predicted):
                part += text.end()
            parts.append(part)
            if self.params.stream:
                self._add_frame(part, token, count)
        return parts

    def _add_frame(self, part: str, token: int, count: int) -> None:
        if count == 1:
            self.frames += self.form.first()
        if part:
            timings = None
            if self.params.timings_per_token:
                self.timings.end_ns = self.machine.clock_ns()
                timings = self.timings.to_json()
            told = self.sampler.told[count - 1] if self.sampler is not None and self.sampler.told else None
            self.frames.append(self.form.piece(part, token, count, len(self.prompt.tokens), timings, told))

    def _told(self, stopped_by: str) -> list[dict[str, Any]]:
        """What is told of the tokens of a reply; those of a stop word are cut as its text is."""
        if self.sampler is None or self.params.stream:
            return []
        cut = len(self.machine.model.tokenizer.encode(stopped_by)) if stopped_by else 0
        return self.sampler.told[: max(0, len(self.sampler.told) - cut)]

    def _flush(self) -> Generator[Effect, Any, None]:
        if self.frames:
            frames, self.frames = self.frames, []
            yield Write(frames)

    def _outcome(self, slot: Slot, content: str, stopped_by: str, truncated: bool) -> Outcome:
        return Outcome(
            index=self.index,
            content=content,
            tokens=self.predicted,
            id_slot=slot.id,
            n_prompt=len(self.prompt.tokens),
            tokens_cached=len(slot.tokens) if self.prompt.tokens else 0,
            prompt=self.prompt.text,
            truncated=truncated,
            stop=self.stop,
            stopping_word=stopped_by,
            told=self._told(stopped_by),
            timings=self.timings.to_json(),
        )

    def _warn_whole(self, slot: Slot, n_prompt: int) -> None:
        log, task = self.machine.log, self.task.id
        text = "need to evaluate at least 1 token for each active slot"
        log.slot(Level.WARN, "operator()", slot.id, task, f"{text} (n_past = {n_prompt}, task.n_tokens() = {n_prompt})")
        log.slot(Level.WARN, "operator()", slot.id, task, f"n_past was set to {n_prompt - 1}")

    def _finished(self, slot: Slot, truncated: bool) -> None:
        log, timings, task = self.machine.log, self.timings, self.task.id
        prompt_n, predicted_n, steps = timings.prompt_n, timings.predicted_n, max(0, timings.predicted_n - 1)
        prompt_ms, predicted_ms = timings.prompt_ms, timings.predicted_ms if steps else 0.0
        lines = (
            f"prompt eval time = {prompt_ms:10.2f} ms / {prompt_n:5d} tokens ({prompt_ms / max(1, prompt_n):8.2f}"
            f" ms per token, {1e3 / prompt_ms * prompt_n:8.2f} tokens per second)",
            f"       eval time = {predicted_ms:10.2f} ms / {predicted_n:5d} tokens ({predicted_ms / max(1, steps):8.2f}"
            f" ms per token, {1e3 / predicted_ms * steps if steps else 0.0:8.2f} tokens per second)",
            f"      total time = {prompt_ms + predicted_ms:10.2f} ms / {prompt_n + predicted_n:5d} tokens",
            f"   graphs reused = {steps:10d}",
        )
        log.slot(Level.INFO, "print_timing", slot.id, task, *lines)
        self._count()
        self._log_release(slot, truncated)

    def _count(self) -> None:
        counters, timings = self.machine.counters, self.timings
        counters.count_prompt(timings.prompt_n, timings.cache_n, timings.prompt_ms / 1e3)
        held = len(self.prompt.tokens) + timings.predicted_n
        counters.count_predicted(timings.predicted_n, timings.predicted_ms / 1e3, held)

    def _log_release(self, slot: Slot, truncated: bool) -> None:
        text = f"stop processing: n_tokens = {len(slot.tokens)}, truncated = {int(truncated)}"
        self.machine.log.slot(Level.INFO, "release", slot.id, self.task.id, text)

    def cancelled(self) -> None:
        """The client has gone: what is in the slot stays there."""
        self.entry.cancelled = True
        self.machine.log.srv(Level.WARN, "stop", f"cancel task, id_task = {self.task.id}")
        if self.task.slot is not None:
            self._log_release(self.task.slot, False)

    def failed(self, error: ApiError) -> None:
        self.entry.status = error.status
        self.machine.log.srv(Level.ERROR, "send_error", f"task id = {self.task.id}, error: {error.message}")
        self.machine.log.srv(Level.WARN, "stop", f"cancel task, id_task = {self.task.id}")

    def record(self) -> None:
        """The journal's entry, however it ended."""
        machine = self.machine
        if not machine.journal.wanted:
            return
        body, timings = self.params.body, self.timings
        machine.journal.write(
            "completion",
            endpoint=self.completion.request.path,
            stream=self.params.stream,
            id_slot=_flat(body.get("id_slot")),
            served_slot=self.entry.served_slot,
            cache_prompt=body.get("cache_prompt"),
            prompt_tokens=self.prompt.tokens.tolist(),
            n_prompt=len(self.prompt.tokens),
            cache_n=timings.cache_n,
            prompt_n=timings.prompt_n,
            predicted_n=timings.predicted_n,
            predicted=self.predicted,
            stop_type=self.stop.value,
            status=self.entry.status,
            cancelled=self.entry.cancelled,
            t_start_ns=timings.start_ns or None,
            t_first_ns=timings.first_ns or None,
            t_end_ns=machine.clock_ns(),
            **machine.scope_of(self.completion.request),
        )
