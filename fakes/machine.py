"""Everything one fake decoder has, in one place: model, memory, slots, queue, journal, faults, log, counters.

No socket, no file and no clock of its own: the clock, the files and the source of names are handed in.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from fakes.asked import SCOPE_HEADER, Asked
from fakes.builds import build_of
from fakes.conversations import Conversations
from fakes.disk import Files
from fakes.effects import Await, Effect, Flow, Steps
from fakes.fault import Player
from fakes.flags import Options
from fakes.hold import Holds
from fakes.http1 import Request
from fakes.journal import Journal
from fakes.log import Level, Log
from fakes.metrics import Counters
from fakes.model import ToyModel
from fakes.pace import Pace
from fakes.point import Point
from fakes.prompt_cache import PromptCache
from fakes.scheduler import Scheduler, Task
from fakes.slots import Choice, Move, Slot, common_prefix
from fakes.spec import ModelSpec
from fakes.steps import Fate, Wanted
from fakes.store import RowStore

S = TypeVar("S")
_CONTEXT_STEP = 256
_AUTO_SLOTS = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """How the context is cut into slots."""

    n_slots: int
    n_ctx_slot: int
    unified: bool

    @property
    def n_stream(self) -> int:
        """Streams of the cache: one for all slots together, or one for each."""
        return 1 if self.unified else self.n_slots


def shape_of(options: Options, spec: ModelSpec) -> Shape:
    """Without `-np` four slots over one cache, each with the whole context; else so many, with a part each."""
    n_slots = options.parallel if options.parallel > 0 else _AUTO_SLOTS
    unified = options.parallel <= 0 if options.kv_unified is None else options.kv_unified
    total = options.ctx_size or spec.ctx
    share = total if unified else total // n_slots
    return Shape(n_slots, max(1, -(-share // _CONTEXT_STEP)) * _CONTEXT_STEP, unified)


def _give_up(flow: Flow, _: Effect) -> None:
    flow.close()


def _no_process(fate: Fate) -> None:
    raise RuntimeError(f"nobody here can {fate}")


class Machine:
    """One fake decoder. `new_name` makes unguessable names, `wall_s` is the time of day."""

    def __init__(
        self,
        options: Options,
        spec: ModelSpec,
        *,
        journal: Journal,
        player: Player,
        log: Log,
        files: Files,
        clock_ns: Callable[[], int],
        wall_s: Callable[[], float],
        new_name: Callable[[], str],
    ) -> None:
        self.options = options
        self.build = build_of(options.fake_version)
        self.spec = spec
        self.journal = journal
        self.player = player
        self.holds = Holds(journal)
        self.log = log
        self.files = files
        self.clock_ns = clock_ns
        self.wall_s = wall_s
        self.new_name = new_name
        self.media_marker = f"<__media_{new_name()}__>"
        """Another one with each start, by which a client can tell one start from the next."""
        self.loading = True
        self.started_ns = clock_ns()
        self.model = ToyModel(spec)
        self.shape = shape_of(options, spec)
        k_type, v_type = options.cache_type_k, options.cache_type_v
        n_cells = self.shape.n_slots * self.shape.n_ctx_slot
        self.store = RowStore(spec.layers, spec.row_bytes, n_cells, k_type, v_type)
        self.slots = [Slot(i, i * self.shape.n_ctx_slot, self.shape.n_ctx_slot) for i in range(self.shape.n_slots)]
        self.scheduler = Scheduler(self.slots, options.slot_prompt_similarity, self._started)
        self.pace = Pace(options.slow_down, options.jitter, options.jitter_seed)
        self.prompt_cache = PromptCache(options.cache_ram)
        self.counters = Counters()
        self.conversations = Conversations(lambda: int(wall_s()))
        self._n_tasks = 0
        self.poisoned = False
        """Every completion comes back empty."""
        self.previous: array[int] | None = None
        """The prompt that was evaluated last, while faults are armed."""
        self._stuck: list[Task] = []
        self.meet: Callable[[Fate], None] = _no_process
        """Ends, stops or restarts the process that this is; whoever runs one says how."""
        self.orphan: Callable[[Flow, Effect], object] = _give_up
        """Goes on with what a client has left, and what it waits for; whoever can drive it alone says how."""

    @property
    def name(self) -> str:
        """What answers call the model."""
        return self.names[0]

    @property
    def names(self) -> list[str]:
        """The aliases, the one that answers carry first."""
        aliases = sorted(filter(None, (self.options.alias or "").split(",")))
        return aliases or [self.options.model]

    @property
    def build_info(self) -> str:
        return f"{self.options.fake_version}-fake"

    def seconds(self, n_tokens: int, rate: float) -> float:
        """What so much work takes now."""
        return self.pace.seconds(n_tokens, rate, sum(slot.is_busy for slot in self.slots)) if rate else 0.0

    def task_id(self) -> int:
        """Numbers grow by one for everything that goes through the queue."""
        self._n_tasks += 1
        return self._n_tasks - 1

    @property
    def quiet(self) -> bool:
        """Whether no fault is armed and nothing held."""
        return self.player.idle and self.holds.idle

    def asked(self, request: Request | None, slot: int | None = None) -> Asked | None:
        """A request as limits see it."""
        if request is None:
            return None
        return Asked(request, slot, self.model.tokenizer.decode, self.options.api_prefix)

    def scope_of(self, request: Request) -> dict[str, str]:
        """What a journal's entry says of whose request it is, where that is said."""
        scope = request.headers.get(SCOPE_HEADER)
        return {} if scope is None else {"scope": scope}

    def reach(self, point: Point, request: Request | None = None, slot: int | None = None) -> Steps:
        """Wait at `point` while it is held."""
        if not self.holds.idle:
            signal = self.holds.reach(point, self.asked(request, slot))
            if signal is not None:
                yield Await(signal)

    def passes(
        self, point: Point, step: S, request: Request | None = None, slot: int | None = None
    ) -> Generator[Effect, Any, S]:
        """The step that is really done at `point`, after any hold there."""
        yield from self.reach(point, request, slot)
        return step if self.player.idle else self.player.at(point, step, self.asked(request, slot))

    def occupy(self, task: Task, request: Request | None = None) -> Generator[Effect, Any, Slot]:
        """Wait for the task's slot. When the client leaves meanwhile the task is forgotten."""
        if not self.quiet:
            yield from self._want(task, request)
        self.scheduler.submit(task)
        while task.slot is None:
            running = None if task.want is None else self.scheduler.holder(self.slots[task.want])
            if running is not None and not task.is_action:
                text = f"selected slot by id ({task.want})"
                self.log.slot(Level.INFO, "get_available_slot", running.want or 0, running.id, text)
            try:
                yield Await(task.ready)
            except BaseException:
                self.leave(task)
                raise
        return task.slot

    def _want(self, task: Task, request: Request | None) -> Steps:
        wanted = Wanted(task.want, self.shape.n_slots, task.is_action)
        step = yield from self.passes(Point.SLOT_WANTED, wanted, request, task.want)
        task.want = step.slot
        for slot in step.stuck:
            if all(one.want != slot for one in self._stuck):
                self._stuck.append(Task(self.task_id(), slot))
                self.scheduler.submit(self._stuck[-1])

    def free_stuck(self) -> None:
        """Give back the slots that a fault had taken for ever."""
        stuck, self._stuck = self._stuck, []
        for task in stuck:
            self.leave(task)

    def leave(self, task: Task) -> None:
        """Give back the task's slot, or its place in the queue."""
        slot = task.slot
        if slot is None:
            self.scheduler.withdraw(task)
            return
        if not task.is_action:
            slot.move(Move.END)
            slot.t_last = self.clock_ns() // 1000
        self.scheduler.release(task)

    def _started(self, task: Task, choice: Choice) -> None:
        if task.is_action:
            return
        slot = choice.slot
        slot.move(Move.START)
        self.log.slot(Level.INFO, "get_available_slot", slot.id, -1, choice.reason)
        slot.task_id = task.id
        self.log.slot(Level.INFO, "launch_slot_with_task", slot.id, task.id, "processing task, is_child = 0")
        if self.prompt_cache.is_on:
            self._bring_back(slot, task.prompt, was_idle_longest=choice.is_oldest)
            if self.options.cache_idle_slots:
                self._keep_idle(slot)

    def _bring_back(self, slot: Slot, prompt: array[int], *, was_idle_longest: bool) -> None:
        """What the slot would lose goes to the host's memory, and what serves the prompt better comes from there."""
        held = slot.tokens
        if slot.share_id is not None:
            return  # its cells are somebody else's to write
        if not was_idle_longest and (not held or common_prefix(held, prompt) >= len(held) / 2):
            return
        self._keep(slot)
        copy = self.prompt_cache.take(held, prompt)
        if copy is not None:
            self.store.write(slot.first_cell, copy.rows)
            slot.tokens = copy.tokens

    def _keep(self, slot: Slot) -> None:
        if slot.tokens and not self.prompt_cache.has(slot.tokens):
            self.prompt_cache.keep(slot.tokens, self.store.read(slot.first_cell, len(slot.tokens)))

    def _keep_idle(self, started: Slot) -> None:
        """Idle slots are copied; with one cache for all slots they lose their tokens, too."""
        for slot in self.slots:
            if slot is not started and self.scheduler.holder(slot) is None:
                self._keep(slot)
                if self.shape.unified:
                    slot.tokens = array("i")
