"""The adopt names a share of the router's own making, and other tokens than were prefilled."""

from typing import Any

from router.cli import main
from router.decoder_client import DecoderClient

SUITES = ("router_invariants/i08_a_share_belongs_to_one_attempt",)


def mutate() -> None:
    honest = DecoderClient.adopt

    async def adopt(self: DecoderClient, slot: int, share_id: str, tokens: tuple[int, ...], seconds: float) -> Any:
        return await honest(self, slot, share_id + "0", tokens[::-1], seconds)

    DecoderClient.adopt = adopt  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
