"""The decoder evaluates every prompt from its first token, whatever its slot holds."""

from typing import Any

from fakes import decoder_server
from fakes.generation import Generation

SUITES = ("slot_restore", "slot_api", "slot_concurrency", "swa_full", "parity")
REPLACES = "decoder"


def mutate() -> None:
    honest = Generation.__init__

    def afresh(self: Generation, *rest: Any, reuse: bool, **how: bool) -> None:
        honest(self, *rest, reuse=False, **how)

    Generation.__init__ = afresh  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
