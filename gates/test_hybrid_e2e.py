"""The suite `hybrid_e2e`, one item a check: the router in front of real servers."""

from harness.pytest_plugin import Suite

checks = Suite("hybrid_e2e")
