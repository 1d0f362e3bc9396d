"""An engine that is unsure, or untrue, about the model it has."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import RpcAnswer
from fakes.fault import Fault
from fakes.point import Point

_WITH_IDENTITY = ("STATE_GET", "STATE_PUT", "STATE_META", "INFO", "PREFILL")
_FIELDS = frozenset(("tokenizer", "model_name", "model_quant", "model_capabilities", "model_alias", "model_hash"))
OTHER = {"model_name": "another-model", "tokenizer": "another-tokenizer"}


def model_fallback(step: RpcAnswer) -> RpcAnswer:
    """PREFILL is answered OK by another model than asked for, and says so: `model_fallback` and its identity (F45).

    The engine claims OK, and the truth about its model. A correct router goes by the identity that is said, not by the
    one it asked for.
    """
    return replace(step, meta={**step.fields, **OTHER, "model_fallback": True})


def identity_flips(step: RpcAnswer) -> RpcAnswer:
    """STATE_META names another model than PREFILL did, on the same engine (F46).

    The engine claims one model in one answer and another in the next. A correct router hands nothing over, and does not
    skip the guard because the engine is the same.
    """
    return replace(step, meta={**step.fields, **OTHER})


def identity_absent(step: RpcAnswer) -> RpcAnswer:
    """No answer says which model it is about (F47).

    The engine claims nothing about its model. A correct router goes on unguarded and counts it.
    """
    return replace(step, meta={key: value for key, value in step.fields.items() if key not in _FIELDS})


FAULTS = (
    Fault(
        "engine-model-fallback",
        Point.ENGINE_ANSWER,
        model_fallback,
        ops=("PREFILL",),
        reports=("ddvnguyen/hydra_vortex#470",),
    ),
    Fault(
        "engine-identity-flips",
        Point.ENGINE_ANSWER,
        identity_flips,
        ops=("STATE_META",),
        reports=("ddvnguyen/hydra_vortex#470",),
    ),
    Fault(
        "engine-identity-absent",
        Point.ENGINE_ANSWER,
        identity_absent,
        ops=_WITH_IDENTITY,
        reports=("ddvnguyen/hydra_vortex#470",),
    ),
)
