"""A stream is ended at the first event that is not OpenAI's."""

import json

from router.cli import main
from router.decoder_client import Upstream
from router.errors import CutOff

SUITES = (
    "router_invariants/i32_a_broken_line_ends_nothing",
    "router_invariants/i32_what_is_not_understood_ends_nothing",
)


def is_understood(line: bytes) -> bool:
    if not line or line == b"data: [DONE]":
        return True
    try:
        return "choices" in json.loads(line.removeprefix(b"data: "))
    except (ValueError, TypeError):
        return False


def mutate() -> None:
    honest = Upstream.chunk

    async def chunk(self: Upstream, seconds: float) -> bytes:
        came = await honest(self, seconds)
        if not all(is_understood(line) for line in came.splitlines()):
            raise CutOff("an event that nobody understands")
        return came

    Upstream.chunk = chunk  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
