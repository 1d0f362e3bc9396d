"""The life of a child decoder: started on a loopback port, restarted with backoff, ended with the router."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from router.child_process import ChildProcess, Children
from router.config import CHILD_SLOTS, ChildDecoder
from router.deadline import happens
from router.decoders import Decoder
from router.errors import StartError
from router.log import Log
from router.metrics import Metrics
from router.one_line import one_line
from router.pipes import Lines, read_into

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
STEADY_S = 60.0
"""A decoder that lived so long starts with the first pause again."""
END_GRACE_S = 3.0
"""llama-server finishes its streams on TERM; its clients are gone by then."""
LAST_WORDS = 3


class Supervisor:
    """Keeps one child decoder running."""

    def __init__(
        self,
        decoder: Decoder,
        command: tuple[str, ...],
        children: Children,
        log: Log,
        metrics: Metrics,
        when_gone: Callable[[str], None],
    ) -> None:
        self._decoder = decoder
        self._when_gone = when_gone
        self._command = command
        self._children = children
        self._log = log
        self._metrics = metrics
        self._child: ChildProcess | None = None
        self._stop = asyncio.Event()
        self._last_words: list[str] = []

    async def keep_running(self) -> None:
        """Returns when `stop` was called. StartError: the child ended before it was ever ready."""
        loop, pause_s = asyncio.get_running_loop(), FIRST_PAUSE_S
        while not self._stop.is_set():
            started_at = loop.time()
            child = await self._start()
            await child.ended.wait()
            if self._stop.is_set():
                return
            how = _ending(child.returncode)
            self._when_gone(f"its process {how}")
            if not self._decoder.ever_ready:
                raise StartError(f"the decoder {how} before it was ready: {' | '.join(self._last_words)}")
            pause_s = FIRST_PAUSE_S if loop.time() - started_at > STEADY_S else pause_s
            self._log.says(f"the decoder {how}; it is started again in {pause_s:g} s")
            await happens(self._stop, pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            self._metrics.decoder_restarts.inc()

    async def stop(self) -> None:
        """TERM, then KILL, and reaped."""
        self._stop.set()
        if self._child is not None:
            await self._child.end(END_GRACE_S)

    async def _start(self) -> ChildProcess:
        try:
            child = self._child = self._children.start(self._command)
        except OSError as error:
            raise StartError(f"the decoder cannot be started: {self._command[0]}: {error.strerror}") from None
        self._log.says(f"started the decoder, pid {child.pid}: {' '.join(self._command)}")
        _, stdout, stderr = child.pipes
        assert stdout is not None
        assert stderr is not None
        self._last_words = []
        await read_into(stdout, Lines(self._heard))
        await read_into(stderr, Lines(self._heard))
        return child

    def _heard(self, line: bytes) -> None:
        text = one_line(line, len(line))
        self._log.relayed("decoder", text)
        if text:
            self._last_words = [*self._last_words, text][-LAST_WORDS:]


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"exited {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def decoder_command(
    child: ChildDecoder, port: int, slot_save_path: Path, alias: str | None, api_key_file: Path | None
) -> tuple[str, ...]:
    """The child's command line. The user's own arguments come last, except those that only the router may give."""
    words = [*child.command, "-m", child.model, "--host", "127.0.0.1", "--port", str(port)]
    words += ["--slot-save-path", str(slot_save_path)]
    if not {"-np", "--parallel"} & set(child.extra):
        words += ["--parallel", str(CHILD_SLOTS)]
    if not {"-cram", "--cache-ram"} & set(child.extra):
        words += ["--cache-ram", "0"]
    if alias is not None:
        words += ["--alias", alias]
    if api_key_file is not None:
        words += ["--api-key-file", str(api_key_file)]
    return (*words, *child.extra)
