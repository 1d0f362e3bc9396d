"""No request names its slot: the decoder chooses, and may choose another than the one that was filled."""

from router.cli import main
from router.routes import plain

SUITES = (
    "hybrid_kvshare_route",
    "hybrid_route/good",
    "hybrid_route/two_requests",
    "hybrid_route/short_prompt",
    "router_reports/b27_a_pin_that_is_ignored_is_noticed",
    "hydra_router/warm",
    "hydra_router/state_put",
    "hydra_router/small",
    "router_invariants/i27_the_slot_that_was_filled_is_the_one_that_serves",
)


def mutate() -> None:
    pinned = plain.fields_for

    def unpinned(slot: int, *, in_doubt: bool, fell_back: bool, cache_prompt: object) -> dict[str, object]:
        fields = pinned(slot, in_doubt=in_doubt, fell_back=fell_back, cache_prompt=cache_prompt)
        del fields["id_slot"]
        return fields

    plain.fields_for = unpinned


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
