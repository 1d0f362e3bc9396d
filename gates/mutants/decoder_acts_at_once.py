"""A slot action does not wait for what runs in its slot."""

from collections.abc import Generator
from typing import Any

from fakes import decoder_server
from fakes.machine import Machine
from fakes.scheduler import Task
from fakes.slots import Move, Slot, State

SUITES = ("slot_concurrency",)
REPLACES = "decoder"


def mutate() -> None:
    wait, leave, move = Machine.occupy, Machine.leave, Slot.move

    def occupy(self: Machine, task: Task, *more: Any) -> Generator[Any, Any, Slot]:
        if not task.is_action or task.want is None:
            return (yield from wait(self, task, *more))
        task.slot = self.slots[task.want]
        return task.slot

    def go(self: Machine, task: Task) -> None:
        if not task.is_action:
            leave(self, task)

    def move_anyhow(self: Slot, made: Move) -> None:
        if self.state is not State.BUSY or made is Move.END:
            move(self, made)

    Machine.occupy, Machine.leave = occupy, go  # type: ignore[method-assign]
    Slot.move = move_anyhow  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
