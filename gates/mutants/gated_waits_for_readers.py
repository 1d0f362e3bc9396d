"""A router that waits for ever for a client that does not read."""

from collections.abc import Coroutine
from typing import Any

from aiohttp.web_request import BaseRequest

from gates.mutants._in_gates import stand_in
from router import relay, server
from router.cli import main

REPLACES = "harness"
TESTS = ("gates/test_router_security.py::test_a_client_that_does_not_read_is_given_up_and_bound_in_memory",)


async def for_ever(writing: Coroutine[Any, Any, None], client: BaseRequest, seconds: float) -> None:
    await writing


def mutate() -> None:
    relay.written = server.written = for_ever


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
