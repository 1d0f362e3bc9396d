"""The same prompt gets another reply every time."""

import itertools
import os
from collections.abc import Sequence

from fakes import decoder_server
from fakes.model import ToyModel

SUITES = ("slot_restore", "slot_api/actions", "slot_api/bad_files", "slot_api/foreign_files", "slot_concurrency")
REPLACES = "decoder"


def mutate() -> None:
    honest, turns = ToyModel.next_token, itertools.count(os.getpid())

    def next_token(self: ToyModel, sums: Sequence[int], *, ignore_eos: bool = False) -> int:
        moved = [total ^ next(turns) for total in sums]
        return honest(self, moved, ignore_eos=ignore_eos)

    ToyModel.next_token = next_token  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
