"""The timings of every reply say that all of the prompt but one token was there already."""

from typing import Any

from fakes import decoder_server
from fakes.timings import Timings

SUITES = (
    "slot_restore",
    "slot_api",
    "slot_concurrency",
    "hybrid_e2e/foreign_file",
    "hybrid_route/restore_unused",
    "hybrid_route/foreign_file",
    "router_zoo",
)
REPLACES = "decoder"


def mutate() -> None:
    honest = Timings.to_json

    def flattering(self: Timings) -> dict[str, Any]:
        total = self.cache_n + self.prompt_n
        return honest(self) | {"cache_n": total - 1, "prompt_n": 1}

    Timings.to_json = flattering  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
