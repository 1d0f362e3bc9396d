"""The suite `swa_full`, one item a check: a real decoder under test."""

from harness.pytest_plugin import Suite

checks = Suite("swa_full")
