"""No more than 2,048 tokens are adopted."""

from typing import Any

from router.cli import main
from router.decoder_client import DecoderClient

SUITES = ("router_invariants/i46_a_large_state_gets_through",)


def mutate() -> None:
    honest = DecoderClient.adopt

    async def adopt(self: DecoderClient, slot: int, share_id: str, tokens: tuple[int, ...], seconds: float) -> Any:
        return await honest(self, slot, share_id, tokens[:2048], seconds)

    DecoderClient.adopt = adopt  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
