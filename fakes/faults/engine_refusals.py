"""An engine that refuses an operation, in the ways that do not say why."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import Admission, Refusal
from fakes.fault import Fault
from fakes.fault_reports import RPC_ENGINE
from fakes.point import Point

NOT_FOUND, ERROR, BAD_REQUEST, NOT_IMPLEMENTED = 0x01, 0x02, 0x05, 0x06
_STATE_OPS = ("STATE_GET", "STATE_PUT")
_SLOT_OPS = (*_STATE_OPS, "STATE_META", "PREFILL", "DECODE")
_NEWER_OPS = ("CONFIGURE", "INFO", "PREFILL", "DECODE", "SET_EXPERT_MODE", "SWAP_QUANT", "PIPELINE_ATTACH")


def busy(step: Admission) -> Admission:
    """A stranger's request sits on the slot: state operations are answered BUSY (F20 with `first=`, F21 without).

    The engine claims that it cannot now, which is true. A correct router backs off and tries again a few times, then
    takes another engine or gives up in words.
    """
    return replace(step, occupied=True)


def busy_as_error(step: Admission) -> Admission:
    """A stranger's request sits on the slot: PREFILL is answered ERROR with an empty meta (F22).

    The engine does not say that it is busy; STATE_META does. A correct router looks there and backs off.
    """
    return replace(step, occupied=True)


def busy_as_cap_mismatch(step: Admission) -> Admission:
    """A stranger's request sits on the slot: DECODE is answered CAP_MISMATCH, with the reason `slot is busy` (F23).

    The engine claims another model by its code, and the truth by its reason. A correct router goes by the reason: no
    second prefill, and no mismatch of models is counted.
    """
    return replace(step, occupied=True)


def not_found_slot(step: Admission) -> Admission:
    """A slot that the engine lists is answered NOT_FOUND (F24).

    The engine claims that there is no such slot, and its listing claims that there is. A correct router reads the list
    of slots again, takes another one, and does not loop.
    """
    return replace(step, refusal=Refusal(NOT_FOUND))


def op_unknown(step: Admission) -> Admission:
    """An engine that knows only the state operations answers ERROR to all others (F25).

    It does not say NOT_IMPLEMENTED. A correct router takes the HTTP side and remembers it for this engine.
    """
    return replace(step, refusal=Refusal(ERROR))


def not_implemented(step: Admission) -> Admission:
    """PREFILL is answered NOT_IMPLEMENTED (F26).

    The engine claims, plainly, that it cannot. A correct router prefills over HTTP and never stores an empty blob.
    """
    return replace(step, refusal=Refusal(NOT_IMPLEMENTED))


def undrained_payload(step: Admission) -> Admission:
    """BAD_REQUEST goes out before the payload was read, whose bytes are then taken for the next request (F13).

    The engine claims that the request was bad, and then, of bytes that are none, that another one was. A correct router
    drops the connection, so that no second bad answer follows.
    """
    return replace(step, refusal=Refusal(BAD_REQUEST), drained=False)


def info_lies(step: Admission) -> Admission:
    """INFO lists `merged_decode`, and DECODE speaks the generation without a frame (F27).

    The engine claims an operation that it does not speak. A correct router notices that the answer is no merged one,
    falls back, and trusts this engine's INFO no more.
    """
    return replace(step, legacy=True)


def hash_mismatch_early(step: Admission) -> Admission:
    """DECODE is answered BAD_REQUEST: the kv segment hashes to something else than was said (F33, early).

    The engine claims that what it was sent is not what was meant. A correct router sends it once more from where it has
    it, and then prefills again.
    """
    return replace(step, refusal=Refusal(BAD_REQUEST, {"error": "KV segment hash mismatch (corrupt stream)"}))


def gate_a_reject(step: Admission) -> Admission:
    """DECODE is answered ERROR, reason `model_capabilities_mismatch`, with the comparison (F43).

    The engine claims another model than the one it has. A correct router prefills on the right model, unseen.
    """
    match = {"tokenizer_match": True, "model_name_match": False, "capabilities_xor": 0, "capabilities_diff_bits": []}
    refusal = {
        "valid": False,
        "decode_request_id": -1,
        "reason": "model_capabilities_mismatch",
        "error_code": "CAP_MISMATCH",
        "match": match,
    }
    return replace(step, refusal=Refusal(ERROR, refusal))


FAULTS = (
    Fault("engine-busy", Point.ENGINE_ADMIT, busy, ops=_STATE_OPS, reports=("llm-d/llm-d-router#1206",)),
    Fault("engine-busy-as-error", Point.ENGINE_ADMIT, busy_as_error, ops=("PREFILL",), reports=(RPC_ENGINE,)),
    Fault(
        "engine-busy-as-cap-mismatch", Point.ENGINE_ADMIT, busy_as_cap_mismatch, ops=("DECODE",), reports=(RPC_ENGINE,)
    ),
    Fault("engine-not-found-slot", Point.ENGINE_ADMIT, not_found_slot, ops=_SLOT_OPS, reports=(RPC_ENGINE,)),
    Fault("engine-op-unknown", Point.ENGINE_ADMIT, op_unknown, ops=_NEWER_OPS, reports=("ggml-org/llama.cpp#18703",)),
    Fault(
        "engine-not-implemented",
        Point.ENGINE_ADMIT,
        not_implemented,
        ops=("PREFILL",),
        reports=("ggml-org/llama.cpp#18703",),
    ),
    Fault(
        "engine-undrained-payload",
        Point.ENGINE_ADMIT,
        undrained_payload,
        ops=("STATE_PUT", "PREFILL", "DECODE"),
        reports=(RPC_ENGINE,),
    ),
    Fault("engine-info-lies", Point.ENGINE_ADMIT, info_lies, ops=("DECODE",), reports=("ddvnguyen/llama.cpp#77",)),
    Fault(
        "engine-hash-mismatch-early",
        Point.ENGINE_ADMIT,
        hash_mismatch_early,
        ops=("DECODE",),
        reports=("vllm-project/vllm#52234",),
    ),
    Fault(
        "engine-gate-a-reject",
        Point.ENGINE_ADMIT,
        gate_a_reject,
        ops=("DECODE",),
        reports=("ddvnguyen/hydra_vortex#470",),
    ),
)
