"""The decoder answers from the tokens it was told of, never from the rows that lie in its cache."""

from array import array
from typing import Any

from fakes import decoder_server
from fakes.generation import Generation
from fakes.model import ToyModel

SUITES = ("parity", "slot_api/foreign_files", "swa_full")
REPLACES = "decoder"


def mutate() -> None:
    honest = Generation.__init__

    def without_looking(self: Generation, model: ToyModel, store: Any, slot: Any, prompt: array, **how: bool) -> None:
        honest(self, model, store, slot, prompt, **how)
        cells = model.cells(prompt[: self.cached])
        if cells:
            self._sums, self._last = model.sums(model.rows(cells)), cells[-1]

    Generation.__init__ = without_looking  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(decoder_server.main())
