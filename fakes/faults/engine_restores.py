"""An engine that takes state and does not do with it what it said."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import Admission, Restore, RpcAnswer
from fakes.fault import Fault, Value, whole_number
from fakes.fault_reports import CHANGELOG, RPC_ENGINE
from fakes.point import Point

_SEED = ("ddvnguyen/llama.cpp#69",)


def tokens_not_restored(step: Restore) -> Restore:
    """The KV is loaded and the token list is not: the next prompt matches nothing and is evaluated in full (F28).

    The engine says OK, and nothing fails: it is only slow. A correct router sees `cached_tokens` 0 and says so.
    """
    return replace(step, tokens=())


def frozen_slot(step: Restore, milliseconds: int) -> Restore:
    """As without tokens, and the slot then hangs: working, at position 0, no token (F29).

    The engine says OK. A correct router notices the silence before the request's whole time is gone, cancels, and takes
    another engine.
    """
    return replace(step, tokens=(), frozen_s=milliseconds / 1000)


def raw_kv_accepted(step: Restore) -> Restore:
    """Whatever comes is taken as raw KV: its head is stepped over, its tokens are not put back (F30).

    The engine says OK. A correct router never sends raw KV, and sees that this was not used either.
    """
    return replace(step, form="raw", tokens=())


def kv_left_on_wire(step: Admission) -> Admission:
    """DECODE is answered OK before its kv segment is read, whose bytes are then taken for the next request (F31).

    The engine claims an accepted DECODE and restores nothing. A correct router opens a new connection and treats the
    restore as failed.
    """
    return replace(step, kv_unread=True)


def restore_error_late(step: Restore) -> Restore:
    """DECODE is answered OK; its stored result is 400 at the first read and 404 afterwards (F32).

    The engine claims an accepted DECODE first, its failure once, and then to know nothing of it. A correct router takes
    the one read as the answer and prefills again, or takes another engine.
    """
    return replace(step, failure="KV restore failed (llama_state_seq_set_data returned 0)")


def hash_mismatch(step: Restore) -> Restore:
    """DECODE is answered OK; its stored result says that the kv segment was corrupted (F33, late).

    The engine claims an accepted DECODE first, and then that what it was sent is not what was meant. A correct router
    sends it once more from where it has it, and then prefills again.
    """
    return replace(step, failure="KV segment hash mismatch (corrupt stream)")


def n_past_after_restore(step: RpcAnswer, n_past: int) -> RpcAnswer:
    """The early answer of DECODE carries a position, where an honest one has 0: nothing was restored yet (F34).

    The engine claims a position that it cannot know yet. A correct router reads neither this number nor 0 as success or
    failure.
    """
    return replace(step, meta={**step.fields, "n_past_after_restore": n_past})


def gate_b_reject(step: Restore) -> Restore:
    """DECODE is answered OK; its stored result says that the model which was loaded is another one (F44).

    The engine claims an accepted DECODE first, and another model then. A correct router does as it does when the engine
    refuses at once: it prefills on the right model.
    """
    return replace(step, failure="Gate B identity mismatch after model load")


def poison_then_crash(step: Restore) -> Restore:
    """The restore fails and leaves its tokens in the slot; the next prompt there aborts the process (F56).

    The engine claims a restore that failed, and by its health that it is well. A correct router marks the engine dead
    and restores its sessions elsewhere.
    """
    return replace(step, failure="KV restore failed (llama_state_seq_set_data returned 0)", poisoned=True)


FAULTS = (
    Fault(
        "engine-tokens-not-restored",
        Point.ENGINE_RESTORE,
        tokens_not_restored,
        reports=(*_SEED, "ggml-org/llama.cpp#26676"),
    ),
    Fault(
        "engine-frozen-slot",
        Point.ENGINE_RESTORE,
        frozen_slot,
        Value(whole_number(1, 3_600_000), 60_000, "ms without a token"),
        _SEED,
    ),
    Fault("engine-raw-kv-accepted", Point.ENGINE_RESTORE, raw_kv_accepted, reports=_SEED, ops=("DECODE",)),
    Fault("engine-kv-left-on-wire", Point.ENGINE_ADMIT, kv_left_on_wire, ops=("DECODE",), reports=(RPC_ENGINE,)),
    Fault(
        "engine-restore-error-late",
        Point.ENGINE_RESTORE,
        restore_error_late,
        ops=("DECODE",),
        reports=("ggml-org/llama.cpp#27068",),
    ),
    Fault(
        "engine-hash-mismatch",
        Point.ENGINE_RESTORE,
        hash_mismatch,
        ops=("DECODE",),
        reports=("vllm-project/vllm#52234",),
    ),
    Fault(
        "engine-n-past-after-restore",
        Point.ENGINE_ANSWER,
        n_past_after_restore,
        Value(whole_number(-1, 1 << 31), 7, "the position it says"),
        ops=("DECODE",),
        reports=(CHANGELOG,),
    ),
    Fault(
        "engine-gate-b-reject",
        Point.ENGINE_RESTORE,
        gate_b_reject,
        ops=("DECODE",),
        reports=("ddvnguyen/hydra_vortex#470",),
    ),
    Fault("engine-poison-then-crash", Point.ENGINE_RESTORE, poison_then_crash, reports=("ggml-org/llama.cpp#27068",)),
)
