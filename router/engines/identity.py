"""The identity guard: whether state of one model may be put into another engine, as far as both sides say."""

from __future__ import annotations

from enum import StrEnum

from wire.hydra_identity import CAPABILITY_NAMES, Identity, compare


class Verdict(StrEnum):
    """What is done with the state."""

    PROCEEDED = "proceeded"
    WARNED = "warned"
    """Capabilities differ that a handoff survives: reasoning, tools, code."""
    SKIPPED = "skipped"
    """One side does not say which model it has."""
    ABORTED = "aborted"


def judge(kv: Identity, target: Identity) -> tuple[Verdict, str]:
    """The verdict, and what differs in words. Another quantisation of the same model may be handed over."""
    if kv.model_hash and target.model_hash:
        same = kv.model_hash == target.model_hash
        return (Verdict.PROCEEDED, "") if same else (Verdict.ABORTED, "model_hash")
    if not (kv.tokenizer and kv.model_name and target.tokenizer and target.model_name):
        return Verdict.SKIPPED, ""
    match = compare(kv, target)
    if not match.tokenizer:
        return Verdict.ABORTED, f"tokenizer {kv.tokenizer[:60]!r}, not {target.tokenizer[:60]!r}"
    if not match.model_name:
        return Verdict.ABORTED, f"model_name {kv.model_name[:60]!r}, not {target.model_name[:60]!r}"
    if kv.capabilities is None or target.capabilities is None:
        return Verdict.SKIPPED, ""
    differing = [name for bit, name in enumerate(CAPABILITY_NAMES) if match.capabilities_xor >> bit & 1]
    if not match.passes:
        return Verdict.ABORTED, f"capabilities {', '.join(differing)}"
    return (Verdict.WARNED, ", ".join(differing)) if differing else (Verdict.PROCEEDED, "")
