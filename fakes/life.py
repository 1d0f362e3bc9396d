"""What a fault does to the process itself, and work that goes on when its client has gone."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from functools import partial

from fakes.api_error import ApiError
from fakes.effects import Await, ClientGone, CutConnection, Effect, Flow, Pause, SendShare, Sent
from fakes.fault import Player
from fakes.journal import Journal
from fakes.steps import Die
from fakes.waits import Waits


def die(how: Die, journal: Journal, player: Player) -> None:
    """End this process, its journal's end written first: nothing of it is missing."""
    status = how.status if how.signal is None else -how.signal
    journal.write("end", status=status, faults=player.counts(), by="fault")
    journal.close()
    if how.signal is None:
        os._exit(how.status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if how.signal != signal.SIGKILL:
        signal.signal(how.signal, signal.SIG_DFL)
    os.kill(os.getpid(), how.signal)


def freeze(journal: Journal, player: Player) -> None:
    """Stop this process. The journal gets an end, since it is most likely killed; it may go on all the same."""
    journal.write("end", status=-signal.SIGSTOP, faults=player.counts(), by="fault")
    os.kill(os.getpid(), signal.SIGSTOP)


class Orphan:
    """A flow whose client has left, driven to its end; what it writes goes nowhere."""

    def __init__(self, flow: Flow, waits_for: Effect) -> None:
        self._flow = flow
        self._pauses = Waits()
        self._step = 0
        self._loop = asyncio.get_running_loop()
        if not self._waits(waits_for):
            self._go()

    def _go(self, step: int = 0) -> None:
        """Go on, unless something else has driven the flow since."""
        if step != self._step:
            return
        self._step += 1
        try:
            while True:
                effect = self._flow.send(None)
                while isinstance(effect, SendShare):
                    effect = self._flow.send(Sent(connected=False, n_descriptors=0, error="nobody is there any more"))
                if self._waits(effect):
                    return
        except (StopIteration, ApiError, CutConnection, ClientGone):
            return

    def _waits(self, effect: Effect) -> bool:
        if isinstance(effect, Pause):
            self._loop.call_later(self._pauses.delay(effect.seconds), self._go, self._step)
            return True
        if isinstance(effect, Await) and not effect.signal.is_set:
            effect.signal.on_set(partial(self._loop.call_soon, self._go, self._step))
            if effect.seconds is not None:
                self._loop.call_later(effect.seconds, self._go, self._step)
            return True
        return False
