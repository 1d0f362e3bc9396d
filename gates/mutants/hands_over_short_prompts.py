"""--min-prefill-tokens is ignored: a prompt of a few tokens is handed over, too."""

from dataclasses import replace
from typing import Any

from router import plans
from router.cli import main
from router.config import Config

SUITES = (
    "hybrid_route/short_prompt",
    "hydra_router/small",
    "router_invariants/i01_counts_add_up",
)


def mutate() -> None:
    honest = plans.Planner.__init__

    def from_the_first_token(self: plans.Planner, config: Config, *rest: Any, **named: Any) -> None:
        honest(self, replace(config, min_prefill_tokens=1), *rest, **named)

    plans.Planner.__init__ = from_the_first_token  # type: ignore[method-assign]
    plans.surely_shorter = lambda request, n_tokens: False


if __name__ == "__main__":
    mutate()
    raise SystemExit(main())
