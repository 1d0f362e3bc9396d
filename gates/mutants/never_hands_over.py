"""No prompt is ever handed over; the decoder prefills all of them itself."""

from router.cli import main
from router.decoders import Decoder
from router.exchange import Exchange
from router.plans import HandOver, Plain, Planner
from router.request_body import ClientRequest, Why

SUITES = (
    "hybrid_kvshare_route",
    "hybrid_route",
    "hybrid_e2e",
    "parity",
    "router_zoo",
    "router_reports/b04_a_refused_restore_that_wiped_a_warm_slot_is_told",
    "router_reports/b05_rows_that_a_reset_threw_away_are_missed",
    "router_reports/b10_a_prefill_server_that_is_away_is_named",
    "router_reports/b10_a_strict_router_refuses_without_a_prefill_server",
    "router_reports/b11_an_overloaded_prefill_server_is_named",
    "router_reports/b12_a_prompt_above_the_prefill_servers_limit",
    "router_reports/b17_a_lower_limit_reaches_the_decoder_alone",
    "router_reports/b23_a_prefill_whose_end_is_lost_is_not_bought_again",
    "router_reports/b24_a_request_to_recompute_is_the_clients_to_hear",
    "router_reports/b27_a_pin_that_is_ignored_is_noticed",
    "hydra_router",
    "router_load",
    "router_invariants/i01_counts_add_up",
    "router_invariants/i02_an_acknowledgement_is_no_evidence",
    "router_invariants/i06_one_prefill_is_enough",
    "router_invariants/i11_answers_hold_nothing_of_others",
    "router_invariants/i17_what_no_decoder_has_seen_may_go_to_another",
    "router_invariants/i21_every_count_comes_back_to_zero",
    "router_invariants/i25_limits_govern_the_whole_answer",
    "router_invariants/i27_the_slot_that_was_filled_is_the_one_that_serves",
    "router_invariants/i41_greedy_answers_are_the_decoders_own",
    "router_invariants/i35_leaving_in_the_handoff_window",
)


async def plan(self: Planner, request: ClientRequest, exchange: Exchange, decoders: list[Decoder]) -> HandOver | Plain:
    return Plain(Why.NO_PROVIDER, self.text(request))


def mutate() -> None:
    Planner.plan = plan  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
