"""What was restored once is believed in every later turn: `just_restored` is never taken back."""

from collections.abc import Sequence
from typing import Any

from fakes import engine_server
from fakes.engine import work
from fakes.engine.checkpoints import Resume, Snapshot

SUITES = ("hydra_decode_apply/believed_once",)
REPLACES = "engine"


def mutate() -> None:
    honest, was_restored = work.find_resume, []

    def find_resume(n_past: int, snapshots: Sequence[Snapshot], *, just_restored: bool, **named: Any) -> Resume:
        was_restored.append(just_restored)
        # The checkpoints that a slot has made itself since would do: a slot that is believed is not asked for them.
        return honest(n_past, () if any(was_restored) else snapshots, just_restored=any(was_restored), **named)

    work.find_resume = find_resume


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
