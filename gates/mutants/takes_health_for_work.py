"""A decoder whose health is green is in service."""

from typing import Any

from router import decoders, facts
from router.cli import main
from router.decoder_client import Answer, DecoderClient

SUITES = ("router_invariants/i37_work_and_not_health_decides",)


async def works(client: DecoderClient) -> bool:
    return True


async def said(self: DecoderClient, *what: Any) -> Answer:
    return Answer(200, {}, b"[]")


def mutate() -> None:
    decoders.works = works
    for name in ("slots", "save", "models"):
        setattr(facts.DecoderClient, name, said)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
