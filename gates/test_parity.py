"""The suite `parity`, one item a check."""

from harness.pytest_plugin import Suite

checks = Suite("parity")
