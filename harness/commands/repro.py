"""`kvgate repro`: see `harness.proof.repro`."""

from harness.proof.repro import add_arguments, run

__all__ = ["add_arguments", "run"]
