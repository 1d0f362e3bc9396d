"""Carrying out a decision that is not the honest one: to refuse, to stall, to be late, to cut, to die."""

from __future__ import annotations

from collections.abc import Callable

from fakes.api_error import ApiError
from fakes.effects import Await, CutConnection, Pause, Signal, Steps
from fakes.steps import Decision, Die, Drop, Fate, Freeze, Go, Late, Refuse, Restart, Stall


class Refused(ApiError):
    """A refusal that a fault decided, with its own headers and, maybe, its own body."""

    def __init__(self, refuse: Refuse) -> None:
        super().__init__(refuse.status, refuse.message)
        self.headers = refuse.headers
        if refuse.body is not None:
            self.error = dict(refuse.body["error"])


def carry_out(decision: Decision, meet: Callable[[Fate], None]) -> Steps:
    """Returns where the honest course goes on. `meet` ends, stops or restarts the process."""
    match decision:
        case Go():
            return
        case Late(seconds):
            yield Pause(seconds)
        case Refuse():
            raise Refused(decision)
        case Stall():
            yield from stall()
        case Drop(reset):
            raise CutConnection(reset=reset)
        case Freeze():
            meet(decision)
        case Die() | Restart():
            meet(decision)
            raise CutConnection(reset=True)


def stall() -> Steps:
    """Until the client leaves."""
    yield Await(Signal())  # nobody ever sets it
    raise AssertionError("a stall never ends")
