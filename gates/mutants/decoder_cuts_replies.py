"""A reply ends after eight tokens, however many were asked for."""

from typing import Any

from fakes import decoder_server
from fakes.generation import Generation

SUITES = ("slot_api/context", "slot_concurrency")
REPLACES = "decoder"


def mutate() -> None:
    honest = Generation.take

    def take(self: Generation, n_tokens: int, n_predict: int) -> Any:
        return honest(self, n_tokens, 8 if n_predict < 0 else min(n_predict, 8))

    Generation.take = take  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
