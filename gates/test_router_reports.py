"""The suite `router_reports`, one item a check: public reports of routers and decoders, replayed before this router."""

from harness.pytest_plugin import Suite

checks = Suite("router_reports")
