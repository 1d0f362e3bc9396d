"""An engine whose stored results and streams do not say what became of a DECODE."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import Cancel, EntryReply, StreamPlan, Then
from fakes.fault import Fault, Value, whole_number
from fakes.fault_reports import RPC_ENGINE
from fakes.point import Point


def not_ready_404(step: EntryReply) -> EntryReply:
    """The result is 404 "not ready" although it is there; limit it with `first=` (F35).

    The engine claims that it is not done. A correct router goes on asking: this 404 is not the one for an unknown
    result.
    """
    error = {"code": 404, "message": "decode_request_id not ready", "type": "invalid_request_error"}
    return replace(step, status=404, body={"error": error})


def stuck_loading(step: EntryReply) -> EntryReply:
    """The result is 202 and loading, for ever (F36).

    The engine claims to be still at it. A correct router gives up at its deadline, cancels the DECODE, and takes
    another engine.
    """
    return replace(step, status=202, state="loading", body={"state": "loading", "id_slot": step.slot})


def empty_done_stream(step: StreamPlan) -> StreamPlan:
    """The stream has its end line and nothing else (F37).

    The engine claims a reply that ended. A correct router treats it as a failure and not as an empty reply.
    """
    return replace(step, n_chunks=0, done=True, then=Then.NEXT)


def single_delta_no_done(step: StreamPlan) -> StreamPlan:
    """The stream is one piece with all text and the finish reason, without an end line (F38).

    The engine claims by the finish reason that this was all, which is true. A correct router takes it for a whole
    reply.
    """
    return replace(step, at_once=True, done=False)


def stream_cut(step: StreamPlan, k: int) -> StreamPlan:
    """k pieces of the stream are sent, then the connection is cut (F39).

    The engine claims nothing about an end. A correct router tells its client of an error, frees the slot, and sends no
    end line.
    """
    return replace(step, n_chunks=k, then=Then.CLOSE)


def stream_stall(step: StreamPlan, k: int) -> StreamPlan:
    """k pieces of the stream are sent, then nothing, on an open connection (F39, silent).

    The engine claims to be still at it. A correct router gives up after a while without bytes.
    """
    return replace(step, n_chunks=k, then=Then.STALL)


def cancel_ignored(step: Cancel, looks: int) -> Cancel:
    """A client that left, or a DELETE, does not free the slot: it is shown as working for some more looks (F65).

    The engine claims, to a DELETE, that it has cancelled; its listing says that it works on. A correct router keeps the
    slot out of its pool until STATE_META shows it idle.
    """
    return replace(step, heeded=False, looks=looks)


_PIECES = Value(whole_number(0, 1 << 30), 2, "pieces that are sent")
FAULTS = (
    Fault("engine-not-ready-404", Point.ENGINE_ENTRY, not_ready_404, reports=(RPC_ENGINE,)),
    Fault("engine-stuck-loading", Point.ENGINE_ENTRY, stuck_loading, reports=("vllm-project/vllm-ascend#14123",)),
    Fault("engine-empty-done-stream", Point.ENGINE_STREAM, empty_done_stream, reports=("gpustack/gpustack#5939",)),
    Fault(
        "engine-single-delta-no-done",
        Point.ENGINE_STREAM,
        single_delta_no_done,
        reports=("open-webui/open-webui#29628",),
    ),
    Fault(
        "engine-stream-cut",
        Point.ENGINE_STREAM,
        stream_cut,
        _PIECES,
        reports=("gpustack/gpustack#5939", "BerriAI/litellm#40404"),
    ),
    Fault(
        "engine-stream-stall",
        Point.ENGINE_STREAM,
        stream_stall,
        _PIECES,
        reports=("vllm-project/vllm-ascend#14123", "BerriAI/litellm#40404"),
    ),
    Fault(
        "engine-cancel-ignored",
        Point.ENGINE_CANCEL,
        cancel_ignored,
        Value(whole_number(1, 1 << 20), 3, "looks"),
        reports=("ggml-org/llama.cpp#24496",),
    ),
)
