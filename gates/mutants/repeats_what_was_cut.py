"""A call whose connection was cut is made again over another one."""

from typing import Any

from router.cli import main
from router.connection import Connection
from router.decoder_client import DecoderClient
from router.errors import CutOff

SUITES = ("router_invariants/i17_nothing_is_sent_twice",)


def mutate() -> None:
    honest = DecoderClient._ask

    async def ask(self: DecoderClient, connection: Connection, *what: Any) -> Any:
        try:
            return await honest(self, connection, *what)
        except CutOff:
            return await honest(self, await self._pool.take(), *what)

    DecoderClient._ask = ask  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
