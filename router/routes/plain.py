"""The plain route, and what every route ends with: the client's own body, pinned to the leased slot.

An unpinned request may be put by the decoder on a slot that is just being filled, so that even a fallback is pinned.
"""

from __future__ import annotations

from router.plans import Plain
from router.proof import Timings, gone_cold, miscounted
from router.routes.choose import StepFailed


def fields_for(slot: int, *, in_doubt: bool, fell_back: bool, cache_prompt: object) -> dict[str, object]:
    """The fields the router adds to a body. `in_doubt`: what the slot holds must not be trusted.

    `fell_back`: a handoff was tried and failed. It makes no difference, and must not.
    """
    del fell_back
    return {"id_slot": slot, "cache_prompt": cache_prompt is not False and not in_doubt}


def findings(plan: Plain, timings: Timings | None) -> tuple[StepFailed, ...]:
    """What the reply's counters say against a plan whose prompt was counted."""
    if timings is None or plan.n_prompt is None:
        return ()
    return (*miscounted(timings, plan.n_prompt), *gone_cold(timings, plan.n_prompt, plan.n_warm))
