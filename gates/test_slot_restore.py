"""The suite `slot_restore`, one item a check: a real decoder under test."""

from harness.pytest_plugin import Suite

checks = Suite("slot_restore")
