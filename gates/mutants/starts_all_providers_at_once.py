"""However few providers may run at a time, all are started."""

import asyncio

from router.cli import main

SUITES = ("router_reports/b32_a_short_prompt_waits_for_no_dead_long_one",)


def mutate() -> None:
    honest = asyncio.Semaphore.__init__

    def unbounded(self: asyncio.Semaphore, value: int = 1) -> None:
        honest(self, 1 << 16)

    asyncio.Semaphore.__init__ = unbounded  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
