"""What the scenarios of one process share: the guardian, the warm process, a scratch folder, plain references.

One session a run and a worker. Closing it ends everything that was started.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from harness.plan import Folders, base_env
from harness.processes import Guardian
from harness.reference import References
from harness.warm import Warm

T = TypeVar("T")

_LONGEST_TMP = 40
"""A socket's path has 107 bytes; a temporary folder with a longer name than this leaves too few."""


class Session:
    """A context manager; not to be shared between threads."""

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        self.scratch = Path(tempfile.mkdtemp(prefix="kvg-", dir=parent if len(parent) <= _LONGEST_TMP else "/tmp"))
        self.references = References()
        self.guardian = Guardian()
        self._runner = asyncio.Runner()
        self._warm: Warm | None = None
        self._warming = asyncio.Lock()
        self._runs = 0
        self._runner.run(self._open())

    async def _open(self) -> None:
        self.guardian.listen()
        await self.guardian.remove_at_the_end(self.scratch)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Blocking. An interrupt cancels the work, which ends what it started, and comes out as KeyboardInterrupt."""
        task: asyncio.Task[T] | None = None

        async def main() -> T:
            nonlocal task
            task = asyncio.current_task()
            return await work

        try:
            return self._runner.run(main())
        except KeyboardInterrupt:
            if task is not None and not task.done():
                self._runner.run(_cancelled(task))
            raise

    def next_scratch(self) -> Path:
        """A name for one run's own scratch folder."""
        self._runs += 1
        return self.scratch / str(self._runs)

    async def warm(self) -> Warm:
        """The warm process, started when first asked for."""
        async with self._warming:
            if self._warm is None:
                folder = self.scratch / "w"
                folder.mkdir(mode=0o700, exist_ok=True)
                env = base_env("fake", Folders(folder, folder))
                env |= {"TMPDIR": str(folder), "XDG_RUNTIME_DIR": str(folder)}
                self._warm = await Warm.open(self.guardian, folder, env)
        return self._warm

    @property
    def own_pids(self) -> frozenset[int]:
        """Processes below the guardian that belong to the session itself."""
        return frozenset() if self._warm is None else frozenset((self._warm.pid,))

    def close(self) -> None:
        """Everything ends now."""
        try:
            self._runner.run(self._close())
        finally:
            self._runner.close()
            shutil.rmtree(self.scratch, ignore_errors=True)

    async def _close(self) -> None:
        if self._warm is not None:
            await self._warm.close()
        self.guardian.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


async def _cancelled(task: asyncio.Task[Any]) -> None:
    """A signal other than Ctrl-C's leaves the task as it was; this lets it end what it started."""
    task.cancel()
    await asyncio.wait((task,))
