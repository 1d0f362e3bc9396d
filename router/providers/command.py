"""The provider that is a command: one JSON line in, descriptors inherited, its claim on the last line of output."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from router.child_process import ChildProcess, Children
from router.deadline import happens
from router.handshake import Lent
from router.log import Log
from router.one_line import one_line
from router.pipes import Lines, Tail, read_into, write_all
from router.providers.provider import Job, Prefilled
from router.routes.choose import Outcome, Step, failed
from wire.errors import LocalWireError
from wire.provider import MAX_CLAIM_BYTES, FileTarget, ProviderRequest, SharedTarget, encode_request, last_claim

_TAIL_BYTES = 4 * MAX_CLAIM_BYTES
"""Room for a claim of the largest size and for blank lines after it."""
_OUTPUT_GRACE_S = 0.2
"""For a pipe that a process outside the group keeps open after the provider's end."""


class CommandProvider:
    """Starts the command once for each handoff."""

    writes_regions = True

    def __init__(self, command: Sequence[str], children: Children, log: Log) -> None:
        self._command = command
        self._children = children
        self._log = log

    async def start(self, job: Job) -> CommandRun:
        started_ns = time.perf_counter_ns()
        fds = job.target.fds if isinstance(job.target, Lent) else ()
        try:
            line = encode_request(_request(job))
            child = self._children.start(self._command, fds=fds, takes_input=True)
        except (OSError, LocalWireError) as error:
            raise failed(Step.PROVIDER, Outcome.FAILED, reason=_reason(error)) from None
        run = CommandRun(child, job, started_ns)
        try:
            await run.connect(line, self._log)
        except BaseException:
            run.close()
            await child.kill()
            raise
        return run

    async def close(self) -> None:
        """Nothing outlives a run."""


class CommandRun:
    """One started command."""

    def __init__(self, child: ChildProcess, job: Job, started_ns: int) -> None:
        self._child = child
        self._seconds, self._limit_s = job.seconds, job.limit_s
        self._started_ns = started_ns
        self._output = Tail(_TAIL_BYTES)
        self._transports: list[asyncio.BaseTransport] = []

    async def connect(self, line: bytes, log: Log) -> None:
        stdin, stdout, stderr = self._child.pipes
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        said = Lines(lambda text: log.relayed("provider", one_line(text, len(text))))
        self._transports.append(await read_into(stdout, self._output))
        self._transports.append(await read_into(stderr, said))
        self._transports.append(await write_all(stdin, line))

    async def result(self) -> Prefilled:
        if not await happens(self._child.exited, self._seconds):
            await self.end()
            raise failed(Step.PROVIDER, Outcome.TIMED_OUT, seconds=self._limit_s)
        took_ms = (time.perf_counter_ns() - self._started_ns) / 1e6
        await self.end()
        status = self._child.returncode
        if status < 0:
            raise failed(Step.PROVIDER, Outcome.KILLED, signal=_signal_name(-status))
        if status > 0:
            raise failed(Step.PROVIDER, Outcome.EXITED, status=status)
        return Prefilled(last_claim(self._output.kept), took_ms)

    async def end(self) -> None:
        """The whole group is ended and reaped, and its output read to the end."""
        await self._child.end()
        await happens(self._output.ended, _OUTPUT_GRACE_S)
        self.close()

    def close(self) -> None:
        """Nothing more is read or written."""
        for transport in self._transports:
            with contextlib.suppress(RuntimeError):
                transport.close()
        for pipe in self._child.pipes:
            if pipe is not None:
                pipe.close()


def _request(job: Job) -> ProviderRequest:
    shapes = job.shapes
    if isinstance(job.target, Path):
        return ProviderRequest(job.tokens, FileTarget(str(job.target)), model=shapes.model, n_stream=shapes.n_stream)
    header = job.target.header
    keys = [tensor for tensor in header.tensors if "_k_" in tensor.name]
    values = [tensor for tensor in header.tensors if "_v_" in tensor.name]
    return ProviderRequest(
        tokens=job.tokens,
        target=SharedTarget(job.target.fds, header.regions, header.tensors, header.cells),
        model=shapes.model,
        n_layer=len(keys),
        n_stream=shapes.n_stream,
        k_type=keys[0].type if keys else None,
        v_type=values[0].type if values else None,
        row_bytes=keys[0].row_bytes if keys else None,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower() + (f": {error.filename}" if error.filename else "")
    return str(error)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
