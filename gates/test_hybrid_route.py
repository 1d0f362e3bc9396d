"""The suite `hybrid_route`, one item a check."""

from harness.pytest_plugin import Suite

checks = Suite("hybrid_route")
