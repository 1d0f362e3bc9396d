"""A client that leaves during its handoff is a handoff that failed: its prompt is prefilled plain."""

import asyncio
from typing import Any

from router.cli import main
from router.dispatch import Dispatcher
from router.routes.choose import Outcome, Step, failed

SUITES = ("router_invariants/i34_leaving_while_the_provider_runs",)


def mutate() -> None:
    honest = Dispatcher._attempt

    async def attempt(self: Dispatcher, *what: Any) -> Any:
        try:
            return await honest(self, *what)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            return failed(Step.PROVIDER, Outcome.EXITED, status=1)

    Dispatcher._attempt = attempt  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
