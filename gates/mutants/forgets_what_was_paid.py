"""A prompt that was prefilled in vain and is prefilled again counts once."""

from router import dispatch
from router.cli import main

SUITES = ("router_invariants/i06_a_second_payment_is_told",)


def mutate() -> None:
    dispatch.AFTER_PREFILL = ()


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
