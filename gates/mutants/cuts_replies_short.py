"""The router asks for one token, however many the client wanted."""

from router.cli import main
from router.routes import plain

SUITES = ("hybrid_kvshare_route", "hybrid_route", "hybrid_e2e", "parity", "router_zoo")


def mutate() -> None:
    honest = plain.fields_for

    def with_a_limit(slot: int, *, in_doubt: bool, fell_back: bool, cache_prompt: object) -> dict[str, object]:
        fields = honest(slot, in_doubt=in_doubt, fell_back=fell_back, cache_prompt=cache_prompt)
        return fields | {"max_tokens": 1}

    plain.fields_for = with_a_limit


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
