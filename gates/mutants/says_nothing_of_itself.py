"""The router says nothing about itself: neither who is ready, nor that it drains."""

from router.cli import main
from router.log import Log

SUITES = (
    "router_invariants/i39_draining_ends_every_request_openly",
    "router_invariants/i42_a_missing_capability_shows_before_the_first_request",
)


def mutate() -> None:
    honest = Log.says

    def says(self: Log, text: str) -> None:
        if text.startswith(("listening", "bound")):
            honest(self, text)

    Log.says = says  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
