"""A router that does not hear a second signal."""

import signal

from gates.mutants._in_gates import stand_in
from router.cli import main
from router.lifecycle import Lifecycle

REPLACES = "harness"
TESTS = ("gates/test_router_lifecycle.py::test_what_does_not_end_is_cut_and_told_so",)


def mutate() -> None:
    honest = Lifecycle._on_signal

    def once(self: Lifecycle, number: signal.Signals) -> None:
        if not self._ending.is_set():
            honest(self, number)

    Lifecycle._on_signal = once  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
stand_in(__name__)
