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
