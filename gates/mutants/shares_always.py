"""The shared route is tried whether it was asked for or not."""

from router.cli import main
from router.routes import shared, state_file

SUITES = ("hybrid_route/good",)


def mutate() -> None:
    state_file.hand_over = shared.hand_over


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
