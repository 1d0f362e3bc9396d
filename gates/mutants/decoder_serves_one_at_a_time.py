"""Only one request or action runs at a time, and always in the first slot."""

from collections.abc import Sequence
from typing import Any

from fakes import decoder_server, machine, scheduler
from fakes.slots import Choice, Slot

SUITES = ("slot_concurrency",)
REPLACES = "decoder"


def first_alone(slots: Sequence[Slot], wanted: Any, similarity: float) -> Choice | None:
    return next((Choice(slot, "selected the first slot") for slot in slots if slot.id == 0), None)


def mutate() -> None:
    scheduler.choose = first_alone
    honest = scheduler.Scheduler._try

    def when_nothing_runs(self: scheduler.Scheduler, task: scheduler.Task) -> bool:
        return not self._taken and honest(self, task)

    def next_of_all(self: scheduler.Scheduler, slot: Slot) -> scheduler.Task | None:
        return next(iter(self.deferred), None)

    machine.Scheduler._try = when_nothing_runs  # type: ignore[method-assign]
    machine.Scheduler._next_for = next_of_all  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
