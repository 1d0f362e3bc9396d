"""An engine that writes state that no reader should take, or that is not the state of this prompt."""

from __future__ import annotations

from dataclasses import replace

from fakes.engine.steps import BlobDraft
from fakes.fault import Fault, Value, one_of, whole_number
from fakes.fault_reports import CHANGELOG, RPC_ENGINE
from fakes.point import Point

_TGT_OVERFLOW = 2**64 - 8
_NTOK_LIE = 0xFFFFFFFF
_TRAP_N_PAST = 258
_BAD = ("truncated", "ntok-lie", "tgt-overflow", "bad-flags", "lone-flag", "v1-as-v2")


def blob_bad(step: BlobDraft, how: str) -> BlobDraft:
    """The blob breaks a reader's check: cut off, a lying count, a checkpoint of 2^64-8 bytes, unknown flags, v1 (F48).

    The engine claims OK. A correct router's inspector refuses to hand it over or keep it, and the prompt is prefilled
    again.
    """
    match how:
        case "truncated":
            return replace(step, drop_tail=10**9, logits=b"")
        case "ntok-lie":
            return replace(step, n_tok_announced=_NTOK_LIE)
        case "tgt-overflow":
            return replace(step, target_announced=_TGT_OVERFLOW)
        case "bad-flags":
            return replace(step, flags_announced=0x80)
        case "lone-flag":
            return replace(step, flags_announced=0x02)
    return replace(step, as_v1=True, n_past=_TRAP_N_PAST)


def blob_zero(step: BlobDraft) -> BlobDraft:
    """OK, a position above 0, and no payload at all (F49).

    The engine claims that the slot holds the prompt. A correct router stores nothing and falls back.
    """
    return replace(step, absent=True)


def npast_ntok_differ(step: BlobDraft, k: int) -> BlobDraft:
    """The blob's n_past is k more (or fewer) than its token count (F50).

    The engine claims both numbers for the same rows. A correct router takes the position from the token list.
    """
    return replace(step, n_past=max(0, step.n_past + k))


def logits_wrong(step: BlobDraft, how: str) -> BlobDraft:
    """The logits tail is missing, or four bytes short (F51).

    The engine claims OK and a whole blob. A correct router notices nothing: without logits the last token is evaluated
    again.
    """
    return replace(step, logits=b"" if how == "absent" else step.logits[:-4])


def checkpoint_missing(step: BlobDraft) -> BlobDraft:
    """State of a recurrent model comes without the checkpoint it cannot be resumed without (F52).

    The engine claims OK, and the reply is wrong. A correct router cannot know; the check of the output must.
    """
    return replace(step, snapshot=None)


def checkpoint_mislabelled(step: BlobDraft) -> BlobDraft:
    """A full checkpoint is marked as recurrent-only, or the reverse (F53).

    The engine claims OK, and a checkpoint that is not what its flag says: a real one would read wild memory. A correct
    router prefills again when the restore is refused.
    """
    if step.snapshot is None:
        return step
    return replace(step, snapshot=replace(step.snapshot, recurrent_only=not step.snapshot.recurrent_only))


def wrong_prefix(step: BlobDraft) -> BlobDraft:
    """The blob's token list is another prompt's: as from another chat template (F64).

    The engine claims OK. A correct router sees how few tokens were cached and says so.
    """
    return replace(step, tokens=step.tokens[::-1])


FAULTS = (
    Fault(
        "engine-blob-bad",
        Point.ENGINE_BLOB,
        blob_bad,
        Value(one_of(*_BAD), "truncated", "what is wrong"),
        reports=("ggml-org/llama.cpp#27068", "vllm-project/vllm#52234"),
    ),
    Fault("engine-blob-zero", Point.ENGINE_BLOB, blob_zero, reports=("ggml-org/llama.cpp#14434",)),
    Fault(
        "engine-npast-ntok-differ",
        Point.ENGINE_BLOB,
        npast_ntok_differ,
        Value(whole_number(-(1 << 31), 1 << 31), 1, "difference"),
        reports=(CHANGELOG,),
    ),
    Fault(
        "engine-logits-wrong",
        Point.ENGINE_BLOB,
        logits_wrong,
        Value(one_of("absent", "wrong-size"), "absent", "what is wrong"),
        ops=("PREFILL",),
        reports=(RPC_ENGINE,),
    ),
    Fault("engine-checkpoint-missing", Point.ENGINE_BLOB, checkpoint_missing, reports=("ggml-org/llama.cpp#28194",)),
    Fault(
        "engine-checkpoint-mislabelled",
        Point.ENGINE_BLOB,
        checkpoint_mislabelled,
        reports=("ggml-org/llama.cpp#28194",),
    ),
    Fault("engine-wrong-prefix", Point.ENGINE_BLOB, wrong_prefix, reports=("vllm-project/vllm#52234",)),
)
