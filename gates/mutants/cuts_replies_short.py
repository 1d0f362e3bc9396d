"""The router asks for one token, however many the client wanted."""

import json

from router.cli import main
from router.routes import plain
from router.routes.engine import EngineHandoff

SUITES = (
    "hybrid_kvshare_route",
    "hybrid_route",
    "hybrid_e2e",
    "parity",
    "router_zoo",
    "router_reports/b17_a_lower_limit_reaches_the_decoder_alone",
    "hydra_router",
    "router_load",
    "router_invariants/i04_one_token_at_least_is_evaluated",
    "router_invariants/i09_a_slot_is_cleared_after_a_refused_adopt",
    "router_invariants/i12_a_dead_provider_frees_the_other_leg",
    "router_invariants/i13_a_restore_that_is_never_answered",
    "router_invariants/i20_the_decoder_that_served_is_named",
    "router_invariants/i23_a_stream_holds_its_slot_to_its_end",
    "router_invariants/i24_room_goes_to_nobody_while_a_writer_may_write",
    "router_invariants/i26_the_same_as_from_the_decoder_alone",
    "router_invariants/i28_a_next_turn_goes_where_its_prefix_is",
    "router_invariants/i28_warm_is_what_lives_in_this_process",
    "router_invariants/i34_leaving_not_streamed",
    "router_invariants/i34_leaving_restore",
    "router_invariants/i34_leaving_share",
    "router_invariants/i46_a_large_state_gets_through",
)


def mutate() -> None:
    honest = plain.fields_for

    def with_a_limit(slot: int, *, in_doubt: bool, fell_back: bool, cache_prompt: object) -> dict[str, object]:
        fields = honest(slot, in_doubt=in_doubt, fell_back=fell_back, cache_prompt=cache_prompt)
        return fields | {"max_tokens": 1}

    plain.fields_for = with_a_limit
    whole_prompt = EngineHandoff._prompt
    EngineHandoff._prompt = lambda self: json.dumps(  # type: ignore[method-assign]
        {**json.loads(whole_prompt(self)), "max_tokens": 1}
    ).encode()


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
