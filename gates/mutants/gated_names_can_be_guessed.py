"""A router whose files are readable for all, under names that count up."""

import itertools
import os
from pathlib import Path

from gates.mutants._in_gates import stand_in
from router.cli import main
from router.private_files import Place

REPLACES = "harness"
TESTS = ("gates/test_router_security.py::test_state_files_and_sockets_are_private_and_their_names_unguessable",)


def mutate() -> None:
    numbers = itertools.count()

    def new_file(self: Place, suffix: str) -> Path:
        path = self.folder / f"{self._stem}-{next(numbers):032}{suffix}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
        return path

    Place.new_file = new_file  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
