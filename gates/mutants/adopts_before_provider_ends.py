"""The cells are adopted as soon as the provider was started; it ends, and is judged, afterwards."""

from router.cli import main
from router.routes import shared


def mutate() -> None:
    steps = [step for step in shared.STEPS if step is not shared.adopt]
    steps.insert(steps.index(shared.start) + 1, shared.adopt)
    shared.STEPS = tuple(steps)


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
