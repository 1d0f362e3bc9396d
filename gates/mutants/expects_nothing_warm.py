"""A slot that has lost what it was given is not named."""

from router.cli import main
from router.proof import Timings
from router.routes import plain
from router.routes.choose import StepFailed

SUITES = ("router_invariants/i28_a_cold_turn_says_so",)


def never(timings: Timings, n_prompt: int, n_warm: int) -> tuple[StepFailed, ...]:
    return ()


def mutate() -> None:
    plain.gone_cold = never


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
