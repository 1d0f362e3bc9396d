"""DECODE restores the state and then prefills the prompt itself, so that all of it is right and twice as dear."""

import json

from fakes import engine_server
from fakes.engine.apply import _Run
from fakes.engine.prefill_op import run_prefill
from fakes.engine.work import Work

SUITES = (
    "hydra_decode_apply/v2",
    "hydra_decode_apply/v2_checkpoint",
    "hydra_decode_apply/v3",
    "hydra_decode_apply/v3_recurrent_only",
)
REPLACES = "engine"


def mutate() -> None:
    honest = _Run._restore

    def restore(self: _Run) -> Work[None]:
        yield from honest(self)
        prompt = json.dumps({"prompt": list(self._apply.wanted.tokens)}).encode()
        yield from run_prefill(self._engine, self._apply.slot.id, prompt, "", heeds_reservation=False)

    _Run._restore = restore  # type: ignore[method-assign]


if __name__ == "__main__":
    mutate()
    raise SystemExit(engine_server.main())
