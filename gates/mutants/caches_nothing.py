"""Every request goes without its cache."""

from router.cli import main
from router.routes import plain

SUITES = (
    "router_invariants/i10_a_failed_save_leaves_the_session_cold",
    "router_invariants/i04_one_token_at_least_is_evaluated",
    "router_reports/b07_sessions_keep_their_slots_turn_by_turn",
)


def mutate() -> None:
    honest = plain.fields_for

    def uncached(slot: int, *, in_doubt: bool, fell_back: bool, cache_prompt: object) -> dict[str, object]:
        return honest(slot, in_doubt=in_doubt, fell_back=fell_back, cache_prompt=False)

    plain.fields_for = uncached


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
