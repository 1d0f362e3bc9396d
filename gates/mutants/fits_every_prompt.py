"""A prompt is never too long."""

from router import plans
from router.cli import main
from router.decoders import Decoder

SUITES = ("router_invariants/i14_what_can_never_be_served_is_refused_at_once",)


def fits(n_prompt: int, decoders: list[Decoder]) -> None:
    return


def mutate() -> None:
    plans.check_fits = fits


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
