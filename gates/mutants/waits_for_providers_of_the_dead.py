"""A handoff goes on when its decoder has gone out of service."""

from collections.abc import Coroutine
from typing import Any

from router.cli import main
from router.decoders import Decoder

SUITES = ("router_invariants/i12_a_dead_decoder_ends_the_provider",)


async def to_the_end(self: Decoder, handing_over: Coroutine[Any, Any, None]) -> None:
    await handing_over


def mutate() -> None:
    Decoder.while_in_service = to_the_end  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
