"""A call that is refused is made again."""

from typing import Any

from router.cli import main
from router.connection import Connection
from router.decoder_client import DecoderClient

SUITES = ("router_invariants/i19_an_answer_that_is_the_requests_own_is_not_tried_again",)


def mutate() -> None:
    honest = DecoderClient._ask

    async def ask(self: DecoderClient, connection: Connection, *what: Any) -> Any:
        answer = await honest(self, connection, *what)
        if answer.status < 400:
            return answer
        return await honest(self, await self._pool.take(), *what)

    DecoderClient._ask = ask  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
