"""A decoder's own cache is taken for off, whatever the operator says of it."""

from router.cli import main
from router.config import Config

SUITES = ("router_invariants/i02_a_cache_of_the_decoders_own_is_no_evidence",)


def mutate() -> None:
    Config.cache_is_off = property(lambda self: True)  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
