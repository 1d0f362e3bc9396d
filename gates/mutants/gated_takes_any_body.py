"""A router that reads a body of any size."""

from aiohttp.web_request import BaseRequest

from gates.mutants._in_gates import stand_in
from router.cli import main
from router.deadline import Deadline
from router.server import Front

REPLACES = "harness"
TESTS = ("gates/test_router_security.py::test_bodies_and_heads_have_limits",)


async def read_all(self: Front, client: BaseRequest, deadline: Deadline) -> bytes:
    return await client.content.read()


def mutate() -> None:
    Front._body = read_all  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
