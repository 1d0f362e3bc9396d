"""Every request for a model is an internal error."""

from typing import Any

from router.cli import main
from router.dispatch import Dispatcher

SUITES = (
    "router_invariants/i01_counters_that_lack_tokens_are_marked",
    "router_invariants/i01_counts_add_up",
    "router_invariants/i02_an_acknowledgement_is_no_evidence",
    "router_invariants/i03_rows_are_compared_before_the_first_token",
    "router_invariants/i04_one_token_at_least_is_evaluated",
    "router_invariants/i05_a_prefill_by_the_decoder_is_named",
    "router_invariants/i06_a_second_payment_is_told",
    "router_invariants/i06_one_prefill_is_enough",
    "router_invariants/i08_a_share_belongs_to_one_attempt",
    "router_invariants/i09_a_slot_is_cleared_after_a_refused_adopt",
    "router_invariants/i09_a_slot_that_cannot_be_cleared_is_left_alone",
    "router_invariants/i11_answers_hold_nothing_of_others",
    "router_invariants/i12_a_dead_provider_frees_the_other_leg",
    "router_invariants/i14_what_can_never_be_served_is_refused_at_once",
    "router_invariants/i17_what_no_decoder_has_seen_may_go_to_another",
    "router_invariants/i20_the_decoder_that_served_is_named",
    "router_invariants/i21_every_count_comes_back_to_zero",
    "router_invariants/i23_a_stream_holds_its_slot_to_its_end",
    "router_invariants/i24_room_goes_to_nobody_while_a_writer_may_write",
    "router_invariants/i25_limits_govern_the_whole_answer",
    "router_invariants/i26_the_same_as_from_the_decoder_alone",
    "router_invariants/i27_the_slot_that_was_filled_is_the_one_that_serves",
    "router_invariants/i28_a_next_turn_goes_where_its_prefix_is",
    "router_invariants/i28_warm_is_what_lives_in_this_process",
    "router_invariants/i31_bytes_pieces",
    "router_invariants/i31_bytes_together",
    "router_invariants/i33_no_status_for_a_stream_that_never_begins",
    "router_invariants/i34_leaving_not_streamed",
    "router_invariants/i34_leaving_queued",
    "router_invariants/i34_leaving_restore",
    "router_invariants/i34_leaving_share",
    "router_invariants/i34_leaving_while_the_provider_runs",
    "router_invariants/i35_leaving_in_the_handoff_window",
    "router_invariants/i41_greedy_answers_are_the_decoders_own",
    "router_invariants/i43_zero_has_one_meaning",
    "router_invariants/i45_no_field_of_a_client_chooses_a_slot",
    "router_invariants/i46_a_large_state_gets_through",
    "router_reports/b07_sessions_keep_their_slots_turn_by_turn",
    "router_reports/b10_a_prefill_server_that_is_away_is_named",
    "router_reports/b24_a_request_to_recompute_is_the_clients_to_hear",
    "router_reports/b25_clients_that_leave_leak_nothing",
    "router_reports/b38_requests_of_a_decoder_that_dies_end_at_once",
    "router_reports/b32_a_short_prompt_waits_for_no_dead_long_one",
    "router_invariants/i36_one_bad_request_makes_no_bad_decoder",
    "router_invariants/i38_a_killed_router_leaves_no_child",
    "router_invariants/i13_a_provider_that_never_ends",
    "router_invariants/i13_a_completion_that_is_never_answered",
    "router_invariants/i13_a_restore_that_is_never_answered",
)


async def serve(self: Dispatcher, *what: Any) -> Any:
    raise RuntimeError("nothing is served")


def mutate() -> None:
    Dispatcher.serve = serve  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
