"""No count that the decoder tells is right: of tokens saved and restored, and of those that it reused."""

SUITES = ("slot_restore",)
DECODER_FAULTS = ("counters-lie=used", "save-count", "restore-count")
