"""A decoder that went out of service stays out."""

from router.cli import main
from router.decoders import Decoder, Decoders
from router.facts import Facts

SUITES = (
    "router_invariants/i40_a_request_in_a_gap_is_answered_at_once",
    "router_invariants/i28_warm_is_what_lives_in_this_process",
)


def mutate() -> None:
    honest = Decoders._enter

    def enter_once(self: Decoders, decoder: Decoder, facts: Facts) -> None:
        if not decoder.ever_ready:
            honest(self, decoder, facts)

    Decoders._enter = enter_once  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
