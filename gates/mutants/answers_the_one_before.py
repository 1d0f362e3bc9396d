"""A reply that is not streamed is the one that was relayed before it."""

from typing import Any

from router import relay
from router.cli import main
from router.decoder_client import Upstream

SUITES = (
    "router_invariants/i04_one_token_at_least_is_evaluated",
    "router_invariants/i08_a_state_file_belongs_to_one_attempt",
    "router_invariants/i11_answers_hold_nothing_of_others",
    "router_invariants/i26_the_same_as_from_the_decoder_alone",
    "router_invariants/i41_greedy_answers_are_the_decoders_own",
    "router_reports/b04_a_refused_restore_that_wiped_a_warm_slot_is_told",
    "router_reports/b07_sessions_keep_their_slots_turn_by_turn",
    "router_reports/b42_names_that_lead_elsewhere_lead_nowhere",
)


def mutate() -> None:
    honest = relay._whole
    before: list[bytes] = []

    def another(upstream: Upstream, body: bytes, *more: Any, **how: Any) -> Any:
        before.append(body)
        return honest(upstream, before[-2:][0], *more, **how)

    relay._whole = another


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
