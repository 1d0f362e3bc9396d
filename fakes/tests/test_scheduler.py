"""Who waits, and who goes first."""

from array import array

from fakes.scheduler import Scheduler, Task
from fakes.slots import Move, Slot


class Bench:
    def __init__(self, n_slots: int = 2) -> None:
        self.slots = [Slot(i, 0, 100) for i in range(n_slots)]
        self.started: list[tuple[int, int]] = []
        self.scheduler = Scheduler(self.slots, 0.1, self._start)
        self.tasks: dict[int, Task] = {}

    def _start(self, task, choice):
        choice.slot.move(Move.START)
        self.started.append((task.id, choice.slot.id))

    def submit(self, id: int, want: int | None = None) -> None:
        self.tasks[id] = Task(id, want, array("i", [id]))
        self.scheduler.submit(self.tasks[id])

    def end(self, id: int) -> None:
        slot = self.tasks[id].slot
        assert slot is not None
        slot.move(Move.END)
        slot.t_last = len(self.started)
        self.scheduler.release(self.tasks[id])


def test_first_come_first_served():
    bench = Bench(1)
    for id in range(4):
        bench.submit(id)
    for id in range(3):
        bench.end(id)
    assert bench.started == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_a_pinned_task_waits_for_its_slot_though_others_are_idle():
    bench = Bench()
    bench.submit(0, want=0)
    bench.submit(1, want=0)
    bench.submit(2)
    assert bench.started == [(0, 0), (2, 1)]
    bench.end(0)
    assert bench.started[-1] == (1, 0)


def test_who_asked_for_exactly_this_slot_goes_before_an_older_one():
    bench = Bench()
    for id, want in enumerate((0, 1, None, 0)):
        bench.submit(id, want)
    bench.end(0)
    assert bench.started[-1] == (3, 0)
    bench.end(1)
    assert bench.started[-1] == (2, 1)


def test_a_waiter_for_another_slot_is_passed_over():
    bench = Bench()
    for id, want in enumerate((0, 1, 1, None)):
        bench.submit(id, want)
    bench.end(0)
    assert bench.started[-1] == (3, 0)


def test_a_withdrawn_task_is_forgotten():
    bench = Bench(1)
    for id in range(3):
        bench.submit(id)
    bench.scheduler.withdraw(bench.tasks[1])
    bench.end(0)
    assert bench.started[-1] == (2, 0)
    assert bench.scheduler.deferred == []
    assert bench.tasks[2].ready.is_set
    assert not bench.tasks[1].ready.is_set
