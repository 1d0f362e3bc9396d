"""The public reports that ask something of a router, under the ids that scenarios name them by, and where each is
replayed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Report:
    """`ref` is the report's own name on the web; `places` are scenarios, or gates."""

    ref: str
    places: tuple[str, ...]


REPORTS = {
    "B01": Report("ggml-org/llama.cpp#26676", ("router_invariants/i02_an_acknowledgement_is_no_evidence",)),
    "B03": Report(
        "ggml-org/llama.cpp#27068",
        (
            "router_reports/b03_answers_of_a_poisoned_decoder_are_marked",
            "router_invariants/i09_a_slot_is_cleared_after_a_refused_adopt",
        ),
    ),
    "B04": Report(
        "ggml-org/llama.cpp#14434",
        (
            "router_reports/b04_a_refused_restore_that_wiped_a_warm_slot_is_told",
            "router_invariants/i28_a_cold_turn_says_so",
        ),
    ),
    "B05": Report("1bit-MONSTER/1bit-MONSTER#2145", ("router_reports/b05_rows_that_a_reset_threw_away_are_missed",)),
    "B06": Report(
        "ddvnguyen/hydra_vortex#470",
        (
            "hydra_router/other_model",
            "hydra_router/other_quant",
            "router_invariants/i07_no_rows_of_another_model",
        ),
    ),
    "B07": Report(
        "ddvnguyen/hydra_vortex CHANGELOG 0.4.0", ("router_reports/b07_sessions_keep_their_slots_turn_by_turn",)
    ),
    "B08": Report("ddvnguyen/hydra_vortex#615", ("router_invariants/i10_a_failed_save_leaves_the_session_cold",)),
    "B09": Report(
        "ddvnguyen/llama.cpp#77",
        (
            "hydra_router/frozen",
            "router_invariants/i13_a_share_that_is_never_answered",
        ),
    ),
    "B10": Report(
        "llm-d/llm-d-router#2427",
        (
            "router_reports/b10_a_prefill_server_that_is_away_is_named",
            "router_reports/b10_a_strict_router_refuses_without_a_prefill_server",
        ),
    ),
    "B11": Report("llm-d/llm-d-router#1206", ("router_reports/b11_an_overloaded_prefill_server_is_named",)),
    "B12": Report("sgl-project/sglang#30233", ("router_reports/b12_a_prompt_above_the_prefill_servers_limit",)),
    "B13": Report(
        "vllm-project/vllm#52234",
        (
            "router_invariants/i08_a_share_belongs_to_one_attempt",
            "router_invariants/i08_a_state_file_belongs_to_one_attempt",
        ),
    ),
    "B15": Report("vllm-project/vllm#46008", ("router_reports/b15_a_prefill_that_leaves_nothing_is_told_at_once",)),
    "B16": Report("sgl-project/sglang#7147", ("router_invariants/i25_limits_govern_the_whole_answer",)),
    "B17": Report(
        "ModelEngine-Group/unified-cache-management#1295",
        ("router_reports/b17_a_lower_limit_reaches_the_decoder_alone",),
    ),
    "B18": Report("sgl-project/sglang#29017", ("router_invariants/i12_a_dead_provider_frees_the_other_leg",)),
    "B19": Report("sgl-project/sglang#29482", ("router_invariants/i12_a_dead_decoder_ends_the_provider",)),
    "B20": Report(
        "vllm-project/vllm-ascend#14123",
        (
            "router_invariants/i13_a_completion_that_is_never_answered",
            "router_invariants/i30_never_finished_stalled",
        ),
    ),
    "B21": Report("LMCache/LMCache#4209", ("router_invariants/i14_what_can_never_be_served_is_refused_at_once",)),
    "B22": Report(
        "ai-dynamo/dynamo#13088",
        (
            "gates/test_router_load.py",
            "router_invariants/i39_draining_ends_every_request_openly",
        ),
    ),
    "B23": Report(
        "sgl-project/sglang#34570",
        (
            "router_reports/b23_a_prefill_whose_end_is_lost_is_not_bought_again",
            "router_invariants/i17_nothing_is_sent_twice",
        ),
    ),
    "B24": Report(
        "vllm-project/vllm-ascend#13466", ("router_reports/b24_a_request_to_recompute_is_the_clients_to_hear",)
    ),
    "B25": Report("vllm-project/vllm-ascend#10812", ("router_reports/b25_clients_that_leave_leak_nothing",)),
    "B26": Report("sgl-project/sglang#24527", ("router_invariants/i24_room_goes_to_nobody_while_a_writer_may_write",)),
    "B27": Report("antoinezambelli/forge#155", ("router_reports/b27_a_pin_that_is_ignored_is_noticed",)),
    "B30": Report(
        "ggml-org/llama.cpp#18703", ("router_invariants/i42_a_missing_capability_shows_before_the_first_request",)
    ),
    "B31": Report(
        "ggml-org/llama.cpp#24496",
        (
            "router_invariants/i34_leaving_queued",
            "router_invariants/i34_leaving_mid_stream",
        ),
    ),
    "B32": Report("ai-dynamo/dynamo#13691", ("router_reports/b32_a_short_prompt_waits_for_no_dead_long_one",)),
    "B33": Report(
        "BerriAI/litellm#30244",
        (
            "router_invariants/i34_leaving_before_the_first_token",
            "router_invariants/i34_leaving_not_streamed",
        ),
    ),
    "B34": Report(
        "gpustack/gpustack#5939",
        (
            "router_invariants/i30_never_finished_cut",
            "router_invariants/i30_never_finished_whole",
        ),
    ),
    "B35": Report(
        "BerriAI/litellm#40404",
        (
            "router_invariants/i18_nothing_is_spliced_after_the_first_byte",
            "router_invariants/i32_a_broken_line_ends_nothing",
        ),
    ),
    "B36": Report(
        "lemonade-sdk/lemonade#1836",
        (
            "router_invariants/i39_draining_ends_every_request_openly",
            "gates/test_router_lifecycle.py",
        ),
    ),
    "B37": Report(
        "mostlygeek/llama-swap#138",
        (
            "router_invariants/i38_a_killed_router_leaves_no_child",
            "gates/test_router_lifecycle.py",
        ),
    ),
    "B38": Report("ollama/ollama#17516", ("router_reports/b38_requests_of_a_decoder_that_dies_end_at_once",)),
    "B39": Report(
        "ggml-org/llama.cpp#27388",
        (
            "router_reports/b39_a_decoder_that_wedges_in_the_middle_of_a_stream",
            "router_invariants/i37_work_and_not_health_decides",
            "gates/test_router_lifecycle.py",
        ),
    ),
    "B40": Report("mostlygeek/llama-swap#946", ("router_invariants/i40_a_request_in_a_gap_is_answered_at_once",)),
    "B42": Report(
        "ggml-org/llama.cpp#26315",
        (
            "router_reports/b42_names_that_lead_elsewhere_lead_nowhere",
            "gates/test_router_security.py",
        ),
    ),
}
