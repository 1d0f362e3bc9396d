"""A restore is acknowledged with every token, and the slot stays empty."""

from dataclasses import replace
from typing import Any

from fakes import decoder_server
from fakes.fault import Player
from fakes.point import Point

SUITES = ("slot_restore/dense_llama", "slot_concurrency/busy_slot", "swa_full")
REPLACES = "decoder"


class Forgets(Player):
    """Every step is as it was, except that a restore brings no tokens."""

    idle = False

    def at(self, point: Point, step: Any, *more: Any) -> Any:
        done = super().at(point, step, *more)
        return replace(done, tokens=()) if point is Point.RESTORED else done


def mutate() -> None:
    decoder_server.Player = Forgets  # type: ignore[misc]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
