"""An engine whose slots are shown, or guarded, otherwise than they are."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import Admission, RpcAnswer, SlotsReply
from fakes.fault import Fault, Value, whole_number
from fakes.fault_reports import CHANGELOG
from fakes.point import Point

_STATE_OPS = ("STATE_GET", "STATE_PUT")


def meta_after_put_zero(step: RpcAnswer) -> RpcAnswer:
    """STATE_META says position 0 although the slot holds state (F54).

    The engine claims an empty slot. A correct router does not give a warm slot up for this alone.
    """
    return replace(step, meta={**step.fields, "n_past": 0})


def over_reserved(step: Admission) -> Admission:
    """PREFILL and STATE_PUT are let onto a slot that an accepted DECODE has reserved (F55).

    The engine claims OK to both. A correct router never comes that far: its own lease keeps others off the slot.
    """
    return replace(step, heeds_reservation=False)


def slots_empty_list(step: SlotsReply) -> SlotsReply:
    """`GET /slots` is answered with an empty list by an engine that is well (F58).

    The engine claims to be well and to have no slot. A correct router goes on using the engine and takes nothing for
    warm.
    """
    return replace(step, slots=())


def slot_stuck(step: SlotsReply) -> SlotsReply:
    """Every slot is shown as working with nothing left to do (F59).

    The engine claims work that nobody gave it. A correct router counts it after a few polls and does not pick the slot.
    """
    return replace(step, slots=tuple({**slot, "is_processing": True, "n_remain": 0} for slot in step.slots))


def slow_health(step: SlotsReply, milliseconds: int) -> SlotsReply:
    """`GET /slots` takes its time (F61).

    The engine claims nothing meanwhile, and then the truth. A correct router needs several such polls in a row before
    it turns away, and does not flap.
    """
    return replace(step, delay_s=milliseconds / 1000)


def transferring_forever(step: Admission) -> Admission:
    """The slot stays marked as being transferred: STATE_META says so and state operations are BUSY (F63).

    The engine claims a transfer that has long ended. A correct router does not use the lease again, and its watchdog
    ends the wait.
    """
    return replace(step, transferring=True)


FAULTS = (
    Fault(
        "engine-meta-after-put-zero",
        Point.ENGINE_ANSWER,
        meta_after_put_zero,
        ops=("STATE_META",),
        reports=(CHANGELOG,),
    ),
    Fault(
        "engine-over-reserved",
        Point.ENGINE_ADMIT,
        over_reserved,
        ops=("PREFILL", "STATE_PUT"),
        reports=("sgl-project/sglang#24527",),
    ),
    Fault("engine-slots-empty-list", Point.ENGINE_SLOTS, slots_empty_list, reports=("ggml-org/llama.cpp#27388",)),
    Fault("engine-slot-stuck", Point.ENGINE_SLOTS, slot_stuck, reports=("ggml-org/llama.cpp#27388",)),
    Fault(
        "engine-slow-health",
        Point.ENGINE_SLOTS,
        slow_health,
        Value(whole_number(1, 3_600_000), 31_000, "ms it takes"),
        reports=("ggml-org/llama.cpp#27388",),
    ),
    Fault(
        "engine-transferring-forever",
        Point.ENGINE_ADMIT,
        transferring_forever,
        ops=_STATE_OPS,
        reports=("vllm-project/vllm#46283",),
    ),
)
