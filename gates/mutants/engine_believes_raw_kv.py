"""Raw KV that came by DECODE is taken for the prompt's own: its tokens are put beside it."""

from dataclasses import replace
from typing import Any

from fakes import engine_server
from fakes.engine import apply, decode_op

SUITES = ("hydra_decode_apply/raw",)
REPLACES = "engine"


def mutate() -> None:
    honest = apply.start_apply

    def start(engine: Any, work: apply.Apply) -> None:
        delivery = work.delivery
        if delivery is not None and delivery.form == "raw":
            delivery = replace(delivery, tokens=work.wanted.tokens)
        honest(engine, replace(work, delivery=delivery))

    decode_op.start_apply = start


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
