"""A prompt that is not to be cached is matched with what the slot holds all the same."""

from collections.abc import Sequence
from typing import Any

from fakes import engine_server
from fakes.engine import work
from fakes.engine.prompt_match import PromptMatch

SUITES = ("hydra_decode_apply/rows",)
REPLACES = "engine"


def mutate() -> None:
    honest = work.match_prompt

    def match(slot: Sequence[int], prompt: Sequence[int], *, cache_prompt: bool, **named: Any) -> PromptMatch:
        return honest(slot, prompt, cache_prompt=True, **named)

    work.match_prompt = match


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
