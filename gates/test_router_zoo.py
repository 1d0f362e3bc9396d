"""The suite `router_zoo`, one item a check: a handoff between two real servers, for every memory architecture."""

from harness.pytest_plugin import Suite

checks = Suite("router_zoo")
