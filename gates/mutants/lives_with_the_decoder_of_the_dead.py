"""A decoder outlives its router, and the next router takes it over instead of starting its own."""

from pathlib import Path

from router import parts
from router.cli import main
from router.guard import Guard
from router.supervise import Supervisor

SUITES = ("router_invariants/i38_a_killed_router_leaves_no_child",)

PORT = Path("decoder.port")


def mutate() -> None:
    honest = parts.free_port
    found = PORT.read_text() if PORT.exists() else ""

    def port() -> int:
        PORT.write_text(found or str(honest()))
        return int(PORT.read_text())

    async def wait(self: Supervisor) -> None:
        await self._stop.wait()

    parts.free_port = port
    Guard.start = Guard.dismiss = lambda self: None  # type: ignore[method-assign]
    if found:
        Supervisor.keep_running = wait  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
