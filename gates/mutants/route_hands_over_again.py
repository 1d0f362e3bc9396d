"""What a slot holds already is not counted: every prompt is handed over anew."""

from router.cli import main
from router.slots import Prompt

SUITES = ("hydra_router/warm",)


def mutate() -> None:
    Prompt.common = lambda self, other: 0  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
