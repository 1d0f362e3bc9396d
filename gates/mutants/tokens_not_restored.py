"""The engine before the fix: DECODE_APPLY loads the KV and does not put the token list back.

The merged DECODE alone has the fault: STATE_PUT restores the tokens as it always did. Nothing fails, nothing is
named in a log; the next prompt matches nothing, and the KV that was just loaded is removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fakes import engine_server
from fakes.engine.steps import Restore
from fakes.fault import Player
from fakes.point import Point

SUITES = ("hydra_decode_apply",)
REPLACES = "engine"


class ForgetsTokens(Player):
    """Every step is as it was, except that a DECODE's restore has no tokens."""

    def at(self, point: Point, step: Any) -> Any:
        done = super().at(point, step)
        if isinstance(done, Restore) and done.op == "DECODE":
            return replace(done, tokens=())
        return done


def mutate() -> None:
    engine_server.Player = ForgetsTokens  # type: ignore[misc]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
