"""An engine whose work is done and whose answer is cut, slow, too long, or announces what it does not send."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import RpcAnswer, Then
from fakes.fault import Fault, Value, one_of, whole_number
from fakes.fault_reports import CHANGELOG, RPC_ENGINE, RPC_TEXT
from fakes.point import Point

_EXECUTED = ("PREFILL", "DECODE")
_WITH_BLOB = ("STATE_GET", "PREFILL")
_HEAD_BYTES = 12
_HUGE = {"5GiB": 5 * 1024**3, "8EiB": 2**63}
NOT_FOUND, UNKNOWN_STATUS = 0x01, 0x7F


def close_before_answer(step: RpcAnswer) -> RpcAnswer:
    """The request is read and done, and the connection is closed without an answer (F05).

    The engine claims nothing, neither that it was done nor that it was not. A correct router looks at the slot before
    it sends a PREFILL or DECODE again: it has been executed.
    """
    return replace(step, stops_after=0, then=Then.CLOSE)


def close_after_execution(step: RpcAnswer) -> RpcAnswer:
    """PREFILL or DECODE is executed and not answered; executions are counted for each trace id (F62).

    The engine claims nothing, and holds what the request made. A correct router executes once, or again only where the
    first provably did not start.
    """
    return replace(step, stops_after=0, then=Then.CLOSE)


def close_in_header(step: RpcAnswer) -> RpcAnswer:
    """Five of the twelve bytes of the head go out, then the connection is closed (F06).

    The status is among what came, and may read OK; nothing of it is a claim before the head is whole. A correct router
    treats it as no answer at all.
    """
    return replace(step, stops_after=5, then=Then.CLOSE)


def truncated_meta(step: RpcAnswer, k: int) -> RpcAnswer:
    """The head announces more meta than the k bytes that follow, then the connection is closed (F07).

    The status claims OK, and nothing more can be read of it. A correct router takes it for an error and drops the
    connection.
    """
    return replace(step, stops_after=_HEAD_BYTES + k, then=Then.CLOSE)


def truncated_payload(step: RpcAnswer, k: int) -> RpcAnswer:
    """OK and the whole length are announced, k bytes of payload follow, then the connection is closed (F08).

    The engine claims a whole blob. A correct router neither stores nor restores the part, and falls back.
    """
    return replace(step, payload_stops_after=min(k, step.payload_bytes - 1), then=Then.CLOSE)


def stall_payload(step: RpcAnswer, k: int) -> RpcAnswer:
    """OK and the whole length are announced, k bytes of payload follow, then silence on an open connection (F09).

    The engine claims a whole blob and to be still at it. A correct router gives up after a while without bytes, drops
    the connection, and falls back.
    """
    return replace(step, payload_stops_after=min(k, step.payload_bytes - 1), then=Then.STALL)


def drip(step: RpcAnswer, size: int) -> RpcAnswer:
    """The answer goes out a byte (or a few) at a time; nothing else is different (F10, F41).

    All that is claimed is true. A correct router puts it together and works as ever.
    """
    return replace(step, piece_bytes=size)


def overlong_answer(step: RpcAnswer, k: int) -> RpcAnswer:
    """k bytes follow the answer that nothing announced (F11).

    The engine claims an answer that is whole and true, and then seems to go on with the next. A correct router notices
    before its next request and drops the connection.
    """
    return replace(step, behind=step.behind + bytes(k))


def unframed_error_text(step: RpcAnswer) -> RpcAnswer:
    """STATE_GET answers NOT_FOUND with lengths of zero, and then the error as plain text (F12).

    The engine claims an answer without a byte behind its head. A correct router drops the connection behind a STATE_GET
    that is not OK; its next request goes out on a new one.
    """
    return replace(step, status=NOT_FOUND, meta={}, payload_bytes=0, behind=b"invalid slot ID")


def meta_not_json(step: RpcAnswer) -> RpcAnswer:
    """OK, and the meta is a few words (F15).

    The status claims OK; what was done cannot be read. A correct router treats it as a failure and not as zeros.
    """
    return replace(step, meta=b"all is well")


def meta_missing_fields(step: RpcAnswer) -> RpcAnswer:
    """OK, and the meta is an empty object (F16).

    The status claims OK, and neither position nor model is said. A correct router takes the position after a STATE_PUT
    from the blob and never as 0; a PREFILL has failed.
    """
    return replace(step, meta=b"{}")


def meta_huge(step: RpcAnswer) -> RpcAnswer:
    """The head announces 16 MiB of meta (F17).

    The engine claims an answer that will never be complete. A correct router refuses it at the head.
    """
    return replace(step, meta_announced=0xFFFFFF)


def payload_len_huge(step: RpcAnswer, size: str) -> RpcAnswer:
    """The head announces 5 GiB or 2^63 bytes of payload (F18).

    The engine claims a blob that no slot can hold. A correct router refuses it at the head, before it takes any memory.
    """
    return replace(step, payload_announced=_HUGE[size])


def unknown_status(step: RpcAnswer) -> RpcAnswer:
    """The status is 0x7F, in a frame that is whole (F19).

    The engine claims something that has no meaning; its meta is that of an answer that is OK. A correct router treats
    it as a failure; the connection is still in step.
    """
    return replace(step, status=UNKNOWN_STATUS)


_BYTES = Value(whole_number(0, 1 << 40), 100, "bytes that are sent")
FAULTS = (
    Fault(
        "engine-close-before-answer", Point.ENGINE_ANSWER, close_before_answer, reports=("sgl-project/sglang#34570",)
    ),
    Fault(
        "engine-close-after-execution",
        Point.ENGINE_ANSWER,
        close_after_execution,
        ops=_EXECUTED,
        reports=("sgl-project/sglang#34570",),
    ),
    Fault("engine-close-in-header", Point.ENGINE_ANSWER, close_in_header, reports=("gpustack/gpustack#5939",)),
    Fault(
        "engine-truncated-meta",
        Point.ENGINE_ANSWER,
        truncated_meta,
        Value(whole_number(0, 1 << 24), 4, "bytes sent"),
        reports=("gpustack/gpustack#5939",),
    ),
    Fault(
        "engine-truncated-payload",
        Point.ENGINE_ANSWER,
        truncated_payload,
        _BYTES,
        ops=_WITH_BLOB,
        reports=("gpustack/gpustack#5939",),
    ),
    Fault(
        "engine-stall-payload",
        Point.ENGINE_ANSWER,
        stall_payload,
        _BYTES,
        ops=_WITH_BLOB,
        reports=("vllm-project/vllm-ascend#14123",),
    ),
    Fault(
        "engine-drip",
        Point.ENGINE_ANSWER,
        drip,
        Value(whole_number(1, 1 << 20), 1, "bytes at a time"),
        reports=("vllm-project/vllm-ascend#13466",),
    ),
    Fault(
        "engine-overlong-answer",
        Point.ENGINE_ANSWER,
        overlong_answer,
        Value(whole_number(1, 1 << 20), 15, "bytes"),
        reports=(RPC_ENGINE,),
    ),
    Fault(
        "engine-unframed-error-text",
        Point.ENGINE_ANSWER,
        unframed_error_text,
        ops=("STATE_GET",),
        reports=(RPC_ENGINE,),
    ),
    Fault("engine-meta-not-json", Point.ENGINE_ANSWER, meta_not_json, reports=("BerriAI/litellm#40404",)),
    Fault("engine-meta-missing-fields", Point.ENGINE_ANSWER, meta_missing_fields, reports=(CHANGELOG,)),
    Fault("engine-meta-huge", Point.ENGINE_ANSWER, meta_huge, reports=(RPC_TEXT,)),
    Fault(
        "engine-payload-len-huge",
        Point.ENGINE_ANSWER,
        payload_len_huge,
        Value(one_of(*_HUGE), "5GiB", "announced"),
        reports=(RPC_TEXT,),
    ),
    Fault("engine-unknown-status", Point.ENGINE_ANSWER, unknown_status, reports=(RPC_TEXT,)),
)
