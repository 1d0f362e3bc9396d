"""The suite `hydra_decode_apply`, one item a check."""

from harness.pytest_plugin import Suite

checks = Suite("hydra_decode_apply")
