"""The suite `router_load`, one item a check: many clients at once before real servers, in small numbers."""

from harness.pytest_plugin import Suite

checks = Suite("router_load")
