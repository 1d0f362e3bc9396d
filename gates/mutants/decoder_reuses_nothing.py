"""The decoder evaluates every prompt from its first token, whatever its slot holds."""

SUITES = (
    "slot_restore",
    "slot_api/foreign_files",
    "slot_api/refusals",
    "slot_concurrency/busy_slot",
    "swa_full",
    "parity",
)
DECODER_FAULTS = ("reuse-none",)
