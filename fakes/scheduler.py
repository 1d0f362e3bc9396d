"""Who gets which slot, and who waits: an unbounded queue, first come first served.

When a slot is freed, the first waiter that asked for exactly this slot goes first, else the oldest that takes any.
Requests and slot actions wait alike. Knows nothing of what a task does with its slot.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fakes.effects import Signal
from fakes.slots import Choice, Slot, choose


@dataclass(slots=True)
class Task:
    """Something that wants a slot: `want` is the index of the only one that will do, None for any.

    A slot action takes its slot as a request does, but does not make it busy.
    """

    id: int
    want: int | None
    prompt: array[int] = field(default_factory=lambda: array("i"))
    is_action: bool = False
    ready: Signal = field(default_factory=Signal)
    slot: Slot | None = None


class Scheduler:
    """`on_start` is told of every task that gets its slot, and why that one."""

    def __init__(self, slots: Sequence[Slot], similarity: float, on_start: Callable[[Task, Choice], None]) -> None:
        self._slots = slots
        self._similarity = similarity
        self._on_start = on_start
        self._taken: dict[int, Task] = {}
        self.deferred: list[Task] = []

    def submit(self, task: Task) -> None:
        """Start `task` if its slot is free, else let it wait."""
        if not self._try(task):
            self.deferred.append(task)

    def release(self, task: Task) -> None:
        """Give the slot back, and start who waited for it."""
        assert task.slot is not None
        del self._taken[task.slot.id]
        self._start_next(task.slot)

    def withdraw(self, task: Task) -> None:
        """Forget a task that waits."""
        self.deferred.remove(task)

    def holder(self, slot: Slot) -> Task | None:
        """The task that has the slot now."""
        return self._taken.get(slot.id)

    def _try(self, task: Task) -> bool:
        if task.want is None:
            free = [slot for slot in self._slots if slot.id not in self._taken]
            choice = choose(free, task.prompt, self._similarity)
        elif task.want in self._taken:
            return False
        else:
            choice = Choice(self._slots[task.want], f"selected slot by id ({task.want})")
        if choice is None:
            return False
        self._taken[choice.slot.id] = task
        task.slot = choice.slot
        self._on_start(task, choice)
        task.ready.set()
        return True

    def _start_next(self, slot: Slot) -> None:
        task = self._next_for(slot)
        if task is not None and self._try(task):
            self.deferred.remove(task)

    def _next_for(self, slot: Slot) -> Task | None:
        pinned = (task for task in self.deferred if task.want == slot.id)
        anywhere = (task for task in self.deferred if task.want is None)
        return next(pinned, None) or next(anywhere, None)
