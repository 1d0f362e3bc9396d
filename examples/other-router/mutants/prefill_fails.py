"""Every prefill fails: whoever says that a prompt was handed over, or counts one evaluated token, does not look."""

SUITES = ("handoff/whole",)
PROVIDER_FAULTS = ("provider-exit=3",)
