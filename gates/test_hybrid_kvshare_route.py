"""The suite `hybrid_kvshare_route`, one item a check."""

from harness.pytest_plugin import Suite

checks = Suite("hybrid_kvshare_route")
